// Tab groups show the person at a glance which tabs are lent, and to whom: one group per agent, named after it.
// Groups are decoration: where Chrome refuses one (pinned tabs, popup windows) the tab stays as it is.

const COLOURS = ["blue", "green", "purple", "orange", "cyan", "pink", "yellow", "red"];

export class Groups {
  constructor(chrome) {
    this.chrome = chrome;
    this.queue = Promise.resolve();
  }

  // One after the other, or two calls at once would make two groups of one name.
  place(tabId, title) {
    this.queue = this.queue.then(() => this.#place(tabId, title)).catch(() => {});
    return this.queue;
  }

  async #place(tabId, title) {
    const { tabs, tabGroups } = this.chrome;
    const tab = await tabs.get(tabId);
    if (tab.pinned) return;
    const mine = await this.#mine();
    const known = mine.find((g) => g.title === title && g.windowId === tab.windowId);
    if (known && tab.groupId === known.groupId) return;
    const groupId = await tabs.group(
      known ? { tabIds: [tabId], groupId: known.groupId } : { tabIds: [tabId], createProperties: { windowId: tab.windowId } },
    );
    if (!known) {
      await tabGroups.update(groupId, { title, color: colourOf(title) });
      mine.push({ groupId, title, windowId: tab.windowId });
      await this.chrome.storage.session.set({ groups: mine });
    }
  }

  // Takes a tab out of its group, if the group is one of ours.
  leave(tabId) {
    this.queue = this.queue
      .then(async () => {
        const tab = await this.chrome.tabs.get(tabId);
        if ((await this.#mine()).some((g) => g.groupId === tab.groupId)) await this.chrome.tabs.ungroup(tabId);
      })
      .catch(() => {});
    return this.queue;
  }

  // Our groups that still exist; a person may have dissolved or renamed them.
  async #mine() {
    const kept = (await this.chrome.storage.session.get("groups")).groups ?? [];
    const alive = await Promise.all(
      kept.map(async (g) => {
        const group = await this.chrome.tabGroups.get(g.groupId).catch(() => undefined);
        return group ? { ...g, windowId: group.windowId } : undefined;
      }),
    );
    return alive.filter(Boolean);
  }
}

export function colourOf(title) {
  let sum = 0;
  for (const ch of title) sum = (sum * 31 + ch.codePointAt(0)) % 997;
  return COLOURS[sum % COLOURS.length];
}
