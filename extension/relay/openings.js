// Which new tabs were opened by a page in a lent tab. Chrome's `openerTabId` does not say: it names the tab in front,
// whoever opened what. `webNavigation.onCreatedNavigationTarget` names the true source, but also when the person
// Ctrl-clicks a link there, and that tab stays theirs. So two witnesses are needed, in either order: that event, and the
// page's own `Page.windowOpen`, moments apart.

const APART_MS = 5000;

export class Openings {
  constructor(now = () => Date.now()) {
    this.now = now;
    this.announced = []; // { source, at }
    this.created = []; // { source, tabId, at }
  }

  // The page in `source` says that it opens a window. Answers the tab, when it is there already.
  announce(source) {
    this.#forget();
    const at = this.created.findIndex((c) => c.source === source);
    if (at >= 0) return this.created.splice(at, 1)[0].tabId;
    this.announced.push({ source, at: this.now() });
    return undefined;
  }

  // A tab came up from `source`. Answers whether its page had announced it.
  create(tabId, source) {
    this.#forget();
    const at = this.announced.findIndex((a) => a.source === source);
    if (at >= 0) this.announced.splice(at, 1);
    else this.created.push({ source, tabId, at: this.now() });
    return at >= 0;
  }

  // A tab is gone.
  remove(tabId) {
    this.created = this.created.filter((c) => c.tabId !== tabId && c.source !== tabId);
    this.announced = this.announced.filter((a) => a.source !== tabId);
  }

  #forget() {
    const since = this.now() - APART_MS;
    this.announced = this.announced.filter((a) => a.at >= since);
    this.created = this.created.filter((c) => c.at >= since);
  }
}
