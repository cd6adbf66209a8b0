// Which new tabs were opened by a page in a lent tab. Chrome's `openerTabId` alone does not say so: a tab that the
// person opens with Ctrl+T names the tab in front as its opener too. So two witnesses are needed within a few
// seconds, in either order: the page's own `Page.windowOpen` event, and the new tab with that opener.

const WINDOW_MS = 5000;

export class Openings {
  constructor(now = () => Date.now()) {
    this.now = now;
    this.announced = []; // { tabId, at }
    this.created = []; // { tabId, opener, at }
  }

  // The page in `tabId` is opening a window. Answers the new tab when it is there already.
  announce(tabId) {
    this.#forget();
    const at = this.created.findIndex((c) => c.opener === tabId);
    if (at >= 0) return this.created.splice(at, 1)[0].tabId;
    this.announced.push({ tabId, at: this.now() });
    return undefined;
  }

  // A tab came up. Answers whether the page of `opener` opened it.
  create(tabId, opener) {
    this.#forget();
    if (opener === undefined) return false;
    const at = this.announced.findIndex((a) => a.tabId === opener);
    if (at >= 0) {
      this.announced.splice(at, 1);
      return true;
    }
    this.created.push({ tabId, opener, at: this.now() });
    return false;
  }

  #forget() {
    const since = this.now() - WINDOW_MS;
    this.announced = this.announced.filter((a) => a.at >= since);
    this.created = this.created.filter((c) => c.at >= since);
  }
}
