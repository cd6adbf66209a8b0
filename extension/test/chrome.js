// A Chrome for the tests: as much of the extension API as the relay uses, with tabs that can be opened and closed.
// What it does not know it does not answer, as the real one.

export function event() {
  const listeners = [];
  return { addListener: (fn) => listeners.push(fn), fire: (...args) => listeners.forEach((fn) => fn(...args)) };
}

export function area(kept = {}) {
  const data = structuredClone(kept);
  return {
    data,
    get: async (key) => (key in data ? { [key]: structuredClone(data[key]) } : {}),
    set: async (more) => void Object.assign(data, structuredClone(more)),
    remove: async (key) => void delete data[key],
  };
}

export function fakeChrome() {
  const tabs = new Map();
  const groups = new Map();
  const attached = new Set();
  const log = [];
  let next = 100;
  const need = (id) => {
    if (!tabs.has(id)) throw new Error(`No tab with id: ${id}.`);
    return tabs.get(id);
  };
  const chrome = {
    tabs: {
      onCreated: event(), onRemoved: event(), onReplaced: event(), onUpdated: event(),
      get: async (id) => ({ ...need(id) }),
      query: async ({ windowId, active }) =>
        [...tabs.values()].filter((t) => (windowId === undefined || t.windowId === windowId) && (!active || t.active)),
      create: async ({ url, active, windowId = 1 }) => chrome.open(url, { active, windowId }),
      remove: async (id) => void (need(id), tabs.delete(id), chrome.tabs.onRemoved.fire(id)),
      update: async (id, more) => Object.assign(need(id), more),
      reload: async (id) => void Object.assign(need(id), { discarded: false }),
      group: async ({ tabIds, groupId, createProperties }) => {
        const id = groupId ?? next++;
        groups.set(id, groups.get(id) ?? { windowId: createProperties.windowId });
        for (const tab of tabIds) need(tab).groupId = id;
        return id;
      },
      ungroup: async (id) => void (need(id).groupId = -1),
    },
    tabGroups: {
      get: async (id) => {
        if (!groups.has(id)) throw new Error("No group");
        return { id, ...groups.get(id) };
      },
      update: async (id, more) => Object.assign(groups.get(id), more),
    },
    debugger: {
      onEvent: event(), onDetach: event(),
      attach: async ({ tabId }) => {
        const tab = need(tabId);
        if (tab.discarded) return new Promise(() => {});
        if (tab.held || attached.has(tabId)) throw new Error(`Another debugger is already attached to the tab with id: ${tabId}.`);
        if (tab.url.startsWith("chrome:")) throw new Error("Cannot access a chrome:// URL");
        attached.add(tabId);
        log.push(["attach", tabId]);
      },
      detach: async ({ tabId }) => {
        if (!attached.delete(tabId)) throw new Error(`Debugger is not attached to the tab with id: ${tabId}.`);
        log.push(["detach", tabId]);
      },
      sendCommand: async ({ tabId, sessionId }, method, params) => {
        if (!attached.has(tabId)) throw new Error(`Debugger is not attached to the tab with id: ${tabId}.`);
        log.push(["send", tabId, sessionId, method, params]);
        return chrome.answer?.(method, params, tabId);
      },
      getTargets: async () => [...tabs.values()].map(({ id, url, title }) => ({ tabId: id, url, title })),
    },
    storage: { session: area(), local: area() },
    windows: { update: async () => ({}) },
    runtime: { id: "self", getURL: (path) => `chrome-extension://self/${path}` },
    i18n: { getMessage: (key) => key },
    open(url, more = {}) {
      const tab = { id: next++, url, title: "T", active: false, windowId: 1, index: tabs.size, status: "complete", groupId: -1, ...more };
      tabs.set(tab.id, tab);
      chrome.tabs.onCreated.fire({ ...tab });
      return { ...tab };
    },
    all: tabs, groups, attached, log,
  };
  return chrome;
}

// Lets every promise that can go on go on.
export const settle = () => new Promise((resolve) => setImmediate(resolve));
