// The relay: carries the worker's calls to Chrome for lent tabs, and Chrome's events back. It knows no tools; what a
// click or a screenshot is stands in the worker.

import { Fault } from "./fault.js";
import { notLent } from "./debugging.js";
import { allowed, lendable, mayOpen } from "./rules.js";

export class Relay {
  // parts: { chrome, ledger, debugging, openings, groups, tell(event, params) }
  constructor(parts) {
    Object.assign(this, parts);
    this.calls = {
      "tabs.query": () => this.states(),
      "tabs.create": (p) => this.#create(p),
      "tabs.remove": async (p) => void (await this.chrome.tabs.remove(this.#lent(p.tab).tabId)),
      "tabs.update": (p) => this.#front(p),
      "tabs.group": (p) => this.#group(p),
      "debugger.attach": async (p) => void (await this.debugging.attach(this.#lent(p.tab).tabId)),
      "debugger.detach": async (p) => void (await this.debugging.detach(this.#lent(p.tab).tabId)),
      "debugger.sendCommand": (p) => this.#command(p),
    };
    this.ledger.listeners.push((kind, entry, reason) => this.#booked(kind, entry, reason));
  }

  async call(name, params) {
    if (!Object.hasOwn(this.calls, name)) throw new Fault("not_allowed", `the extension carries no call ${name}`);
    return this.calls[name](params);
  }

  #lent(id) {
    const entry = this.ledger.find(id);
    if (!entry) throw notLent(id);
    return entry;
  }

  #command({ tab, session, method, params }) {
    const entry = this.#lent(tab);
    if (!allowed(method, params)) {
      const what = method === "Page.navigate" ? `an address such as ${String(params?.url).slice(0, 80)}` : method;
      throw new Fault("not_allowed", `the extension does not carry ${what}`);
    }
    return this.debugging.send(entry.tabId, session, method, params);
  }

  // A new tab next to the lent ones; only while something is lent, for a browser that lends nothing is not open.
  async #create({ url = "about:blank", active = false, group }) {
    if (!mayOpen(url)) throw new Fault("not_allowed", `the extension does not open ${String(url).slice(0, 80)}`);
    const last = this.ledger.all().at(-1);
    if (!last) throw new Fault("not_lent", "no tab of this browser is lent; the person lends one in the extension's popup");
    const beside = await this.chrome.tabs.get(last.tabId).catch(() => undefined);
    const tab = await this.chrome.tabs.create({ url, active, windowId: beside?.windowId });
    const entry = this.ledger.lend(tab.id, "agent", { group });
    if (group) await this.groups.place(tab.id, group);
    return { tab: entry.id };
  }

  async #front({ tab }) {
    await this.chrome.tabs.update(this.#lent(tab).tabId, { active: true });
  }

  async #group({ tab, title }) {
    const { tabId } = this.#lent(tab);
    this.ledger.change(tabId, { group: title });
    await this.groups.place(tabId, title);
  }

  // The lent tabs as they are now. Address and title come from the debugger's list of targets, which spares the
  // extension the permission to read those of every tab.
  async states() {
    const targets = new Map((await this.chrome.debugger.getTargets()).map((t) => [t.tabId, t]));
    const rows = await Promise.all(
      this.ledger.all().map(async (entry) => {
        const tab = await this.chrome.tabs.get(entry.tabId).catch(() => undefined);
        if (!tab) return undefined;
        const { url = "", title = "" } = targets.get(entry.tabId) ?? {};
        const { active, windowId, index, status, lastAccessed } = tab;
        return { tab: entry.id, by: entry.by, group: entry.group, url, title, active, windowId, index, status, lastAccessed };
      }),
    );
    return { tabs: rows.filter(Boolean) };
  }

  // What the ledger noted, told to the worker and carried out.
  #booked(kind, entry, reason) {
    if (kind === "lent") {
      const opener = this.ledger.of(entry.opener)?.id;
      this.tell("tab.lent", { tab: entry.id, by: entry.by, opener });
    }
    if (kind !== "gone") return;
    void this.debugging.detach(entry.tabId);
    if (reason !== "closed") void this.groups.leave(entry.tabId);
    this.tell("tab.gone", { tab: entry.id, reason });
  }

  // The person lends a tab. Throws a Fault whose message is a key of the locale files.
  async lend(tabId) {
    const target = (await this.chrome.debugger.getTargets()).find((t) => t.tabId === tabId);
    const obstacle = lendable(target?.url);
    if (obstacle) throw new Fault("restricted", obstacle);
    this.ledger.lend(tabId, "person");
    await this.groups.place(tabId, "Deskhand");
  }

  takeBack(id) {
    const entry = this.ledger.find(id);
    if (entry) this.ledger.remove(entry.tabId, "returned");
  }

  stop() {
    for (const entry of this.ledger.all()) this.ledger.remove(entry.tabId, "stopped");
  }

  // After a restart of the service worker: what the ledger kept may be closed by now.
  async restore() {
    const entries = this.ledger.all();
    await this.debugging.sweep(entries.map((e) => e.tabId));
    for (const { tabId } of entries) {
      if (!(await this.chrome.tabs.get(tabId).catch(() => undefined))) this.ledger.remove(tabId, "closed");
    }
  }

  // Chrome's events.

  debuggerEvent(source, method, params) {
    const entry = this.ledger.of(source.tabId);
    if (!entry) return;
    if (method === "Page.windowOpen") {
      const opened = this.openings.announce(source.tabId);
      if (opened !== undefined) this.#adopt(opened, source.tabId);
    }
    // A frame of another site announces its windows only when it is asked to.
    if (method === "Target.attachedToTarget") this.debugging.watch(source.tabId, params);
    this.tell("debugger.event", { tab: entry.id, session: source.sessionId, method, params: params ?? {} });
  }

  debuggerDetached(source, reason) {
    const entry = this.ledger.of(source.tabId);
    const ended = this.debugging.ended(source.tabId, reason);
    if (!entry) return;
    if (ended === "cancelled") this.ledger.remove(source.tabId, "cancelled");
    else this.tell("tab.detached", { tab: entry.id, reason: String(reason) });
  }

  // A page, or the person by Ctrl-click, opened a tab from the page in `source`.
  tabOpened(tabId, source) {
    if (this.ledger.of(source) && this.openings.create(tabId, source)) this.#adopt(tabId, source);
  }

  #adopt(tabId, source) {
    const { group } = this.ledger.of(source);
    this.ledger.lend(tabId, "page", { opener: source, group });
    void this.groups.place(tabId, group ?? "Deskhand");
  }

  tabRemoved(tabId) {
    this.openings.remove(tabId);
    this.ledger.remove(tabId, "closed");
  }

  tabReplaced(added, removed) {
    this.ledger.replace(added, removed);
    const entry = this.ledger.of(added);
    if (entry) this.tell("tab.detached", { tab: entry.id, reason: "replaced" });
  }

  // A lent tab that came to one of our own pages is taken back: from the popup an agent could lend itself more.
  async tabUpdated(tabId) {
    if (!this.ledger.of(tabId)) return;
    const target = (await this.chrome.debugger.getTargets()).find((t) => t.tabId === tabId);
    if (target?.url?.startsWith("chrome-extension:")) this.ledger.remove(tabId, "returned");
  }
}
