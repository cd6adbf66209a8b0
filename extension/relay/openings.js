// Which new tabs were opened by a page in a lent tab. Chrome's `openerTabId` alone does not say so: a tab that the
// person opens with Ctrl+T names the tab in front as its opener too. So two witnesses are needed, in either order:
// the page's own `Page.windowOpen` event, and a new tab with that opener, moments apart.

const BEFORE_MS = 2000; // a tab that was there before its announcement came
const AFTER_MS = 5000; // a tab that comes after it

export class Openings {
  constructor(now = () => Date.now()) {
    this.now = now;
    this.announced = []; // { tabId, at }
    this.created = []; // { tabId, opener, at }
  }

  // The page in `tabId` is opening a window. Answers the new tabs that it may be, the latest first; say `take` of one.
  announce(tabId) {
    this.#forget();
    const found = this.created.filter((c) => c.opener === tabId).map((c) => c.tabId).reverse();
    if (found.length === 0) this.announced.push({ tabId, at: this.now() });
    return found;
  }

  take(tabId) {
    this.created = this.created.filter((c) => c.tabId !== tabId);
  }

  // A tab came up. Answers whether the page of `opener` announced it.
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

  // A tab is gone.
  remove(tabId) {
    this.take(tabId);
    this.announced = this.announced.filter((a) => a.tabId !== tabId);
  }

  #forget() {
    const now = this.now();
    this.announced = this.announced.filter((a) => a.at >= now - AFTER_MS);
    this.created = this.created.filter((c) => c.at >= now - BEFORE_MS);
  }
}
