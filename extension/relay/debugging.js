// The debugger sessions of lent tabs: attach once however many ask at once, detach, send, and sort what Chrome says
// when a session ends.

import { attachFault, commandFault, Fault } from "./fault.js";

const VERSION = "1.3";

export class Debugging {
  constructor(chrome) {
    this.api = chrome.debugger;
    this.tabs = chrome.tabs;
    // tabId → promise of the attachment. A settled one stays while the session lives.
    this.sessions = new Map();
  }

  attached(tabId) {
    return this.sessions.has(tabId);
  }

  attach(tabId) {
    let session = this.sessions.get(tabId);
    if (!session) {
      session = this.#open(tabId);
      this.sessions.set(tabId, session);
      session.catch(() => {
        if (this.sessions.get(tabId) === session) this.sessions.delete(tabId);
      });
    }
    return session;
  }

  async #open(tabId) {
    const target = { tabId };
    try {
      // A tab that the browser put away to save memory has no page that could answer.
      if ((await this.tabs.get(tabId)).discarded) await this.tabs.reload(tabId);
      await this.api.attach(target, VERSION);
    } catch (error) {
      if (!/already attached/i.test(String(error?.message))) throw attachFault(error);
      // It may be our own, from before the service worker was restarted; only our own lets itself be detached.
      try {
        await this.api.detach(target);
        await this.api.attach(target, VERSION);
      } catch {
        throw attachFault(error);
      }
    }
    // So that new windows of the page announce themselves (see openings.js). Not awaited: a page that shows a dialog
    // does not answer, and the command that closes the dialog must get through.
    void this.api.sendCommand(target, "Page.enable").catch(() => {});
  }

  // A child session: its page announces new windows too.
  watch(tabId, { sessionId, targetInfo } = {}) {
    if (targetInfo?.type !== "iframe") return;
    void this.api.sendCommand({ tabId, sessionId }, "Page.enable").catch(() => {});
  }

  async detach(tabId) {
    if (!this.sessions.delete(tabId)) return;
    await this.api.detach({ tabId }).catch(() => {});
  }

  async send(tabId, session, method, params) {
    await this.attach(tabId);
    const target = session ? { tabId, sessionId: session } : { tabId };
    try {
      return (await this.api.sendCommand(target, method, params ?? {})) ?? {};
    } catch (error) {
      const fault = commandFault(error);
      if (fault.reason === "detached" && !session) this.sessions.delete(tabId);
      throw fault;
    }
  }

  // Chrome ended a session. Answers what that means: "cancelled" by the person, or "lost".
  ended(tabId, reason) {
    this.sessions.delete(tabId);
    return reason === "canceled_by_user" ? "cancelled" : "lost";
  }

  // A new life of the service worker: sessions of the former one are still held by Chrome, with nobody listening.
  // They are ended, and attached anew when they are needed.
  async sweep(tabIds) {
    await Promise.all(tabIds.map((tabId) => this.api.detach({ tabId }).catch(() => {})));
  }

  async detachAll() {
    await Promise.all([...this.sessions.keys()].map((tabId) => this.detach(tabId)));
  }
}

export function notLent(id) {
  return new Fault("not_lent", `no tab ${id} is lent; the person lends a tab in the extension's popup`);
}
