// What the popup may ask of the service worker, and the state it shows.

import { addressOf, browserName, codeOf, DEFAULT_ADDRESS } from "./address.js";
import { Fault } from "./fault.js";
import { lendable } from "./rules.js";

export class Desk {
  // parts: { chrome, link, relay, ledger, navigator }
  constructor(parts) {
    Object.assign(this, parts);
    this.asks = {
      state: (ask, sender) => this.state(sender),
      pair: async ({ address, code, name }) => this.#pair(address, code, name),
      forget: async () => {
        this.relay.stop();
        await this.link.forget();
      },
      lend: async ({ tabId }) => this.relay.lend(tabId),
      takeBack: async ({ tab }) => this.relay.takeBack(tab),
      stop: async () => this.relay.stop(),
      show: async ({ tab }) => this.#show(tab),
      rename: async ({ name }) => this.#rename(name),
      retry: async () => this.link.tick(),
    };
  }

  // Answers one message. Only our own popup may ask, and not one that runs in a tab which the agent controls.
  async answer(ask, sender) {
    const own = sender.id === this.chrome.runtime.id && sender.url?.startsWith(this.chrome.runtime.getURL("popup/"));
    const controlled = sender.tab && this.ledger.of(sender.tab.id);
    if (!own || controlled || !Object.hasOwn(this.asks, ask?.ask)) return { error: "askRefused" };
    try {
      return { result: (await this.asks[ask.ask](ask, sender)) ?? {} };
    } catch (error) {
      const fault = Fault.of(error);
      return { error: fault.reason === "restricted" ? fault.message : "askFailed", detail: fault.message };
    }
  }

  async #pair(address, code, name) {
    const where = addressOf(address);
    if (!where) return { problem: "pairAddress" };
    const secret = codeOf(code);
    if (!secret) return { problem: "pairCode" };
    try {
      await this.link.pair(where, secret);
    } catch (error) {
      return { problem: { unreachable: "pairUnreachable", refused: "pairRefused" }[error.reason] ?? "pairFailed" };
    }
    if (name) await this.link.rename(name);
    return {};
  }

  async #rename(name) {
    const text = String(name ?? "").trim().slice(0, 60);
    if (text) await this.link.rename(text);
  }

  async #show(id) {
    const entry = this.ledger.find(id);
    if (!entry) return;
    const tab = await this.chrome.tabs.update(entry.tabId, { active: true });
    await this.chrome.windows.update(tab.windowId, { focused: true });
  }

  async state(sender) {
    const { tabs } = await this.relay.states();
    const { pairing, state } = this.link;
    return {
      link: state,
      address: pairing?.address ?? DEFAULT_ADDRESS,
      worker: pairing?.worker,
      name: pairing?.name ?? browserName(this.navigator),
      lent: tabs,
      here: await this.#here(sender),
    };
  }

  // The tab the popup speaks of: the one in front of its window. When the popup itself was opened as a tab, the one
  // that was in front before it, which Chrome calls its opener.
  async #here(sender) {
    const found = await this.chrome.tabs.query(
      sender?.tab ? { windowId: sender.tab.windowId } : { active: true, lastFocusedWindow: true },
    );
    const others = found.filter((t) => t.id !== sender?.tab?.id);
    others.sort((a, b) => (b.lastAccessed ?? 0) - (a.lastAccessed ?? 0));
    const tab = others.find((t) => t.id === sender?.tab?.openerTabId) ?? others[0];
    if (!tab) return undefined;
    const target = (await this.chrome.debugger.getTargets()).find((t) => t.tabId === tab.id);
    const { url = "", title = "" } = target ?? {};
    return { tabId: tab.id, url, title, lent: this.ledger.of(tab.id)?.id, obstacle: lendable(url) };
  }
}
