// The ledger of lent tabs: the one place that says what may be reached. A tab is in it because the person lent it,
// because the agent opened it, or because a page in such a tab opened it; nothing else ever enters.
//
// It lives in `storage.session`: it outlives the service worker, and ends with the browser. A browser that was
// restarted lends nothing, because tab numbers begin anew and the person may not remember.

const KEY = "ledger";

export class Ledger {
  constructor(storage, random = () => crypto.getRandomValues(new Uint8Array(8))) {
    this.storage = storage;
    this.random = random;
    this.byTab = new Map();
    this.byId = new Map();
    this.saving = Promise.resolve();
    // Listeners: fn(kind, entry, reason) with kind "lent", "changed" or "gone".
    this.listeners = [];
  }

  // Reads what an earlier life of the service worker kept. Call once, before anything else.
  async load() {
    const kept = (await this.storage.get(KEY))[KEY] ?? [];
    for (const entry of kept) this.#put(entry);
  }

  #put(entry) {
    this.byTab.set(entry.tabId, entry);
    this.byId.set(entry.id, entry);
  }

  // by: "person", "agent" or "page". Lending a lent tab changes nothing.
  lend(tabId, by, more = {}) {
    const known = this.byTab.get(tabId);
    if (known) return known;
    const id = [...this.random()].map((b) => b.toString(16).padStart(2, "0")).join("");
    const entry = { id, tabId, by, ...more };
    this.#put(entry);
    this.#saved("lent", entry);
    return entry;
  }

  // Takes a tab out. Final until the person lends it again.
  remove(tabId, reason) {
    const entry = this.byTab.get(tabId);
    if (!entry) return undefined;
    this.byTab.delete(tabId);
    this.byId.delete(entry.id);
    this.#saved("gone", entry, reason);
    return entry;
  }

  // Chrome gave the same page another tab number (it does after discarding).
  replace(added, removed) {
    const entry = this.byTab.get(removed);
    if (!entry) return;
    this.byTab.delete(removed);
    entry.tabId = added;
    this.#put(entry);
    this.#save();
  }

  change(tabId, more) {
    const entry = this.byTab.get(tabId);
    if (!entry) return;
    Object.assign(entry, more);
    this.#saved("changed", entry);
  }

  of(tabId) {
    return this.byTab.get(tabId);
  }

  find(id) {
    return this.byId.get(id);
  }

  all() {
    return [...this.byTab.values()];
  }

  get size() {
    return this.byTab.size;
  }

  #saved(kind, entry, reason) {
    this.#save();
    for (const listener of this.listeners) listener(kind, entry, reason);
  }

  #save() {
    const rows = this.all();
    this.saving = this.saving.then(() => this.storage.set({ [KEY]: rows })).catch(() => {});
  }
}
