// The service worker: builds the parts, and registers every listener at once, for Chrome wakes it by them.

import { browserName, product } from "./relay/address.js";
import { showBadge } from "./relay/badge.js";
import { Debugging } from "./relay/debugging.js";
import { Desk } from "./relay/desk.js";
import { Groups } from "./relay/groups.js";
import { Ledger } from "./relay/ledger.js";
import { Link } from "./relay/link.js";
import { Openings } from "./relay/openings.js";
import { Relay } from "./relay/relay.js";

const ledger = new Ledger(chrome.storage.session);
const relay = new Relay({
  chrome,
  ledger,
  debugging: new Debugging(chrome),
  openings: new Openings(),
  groups: new Groups(chrome),
  tell: (event, params) => link.tell(event, params),
});
const link = new Link(
  {
    WebSocket: globalThis.WebSocket,
    fetch: (...a) => fetch(...a),
    storage: chrome.storage.local,
    setTimeout: (...a) => setTimeout(...a),
    clearTimeout: (t) => clearTimeout(t),
    now: () => Date.now(),
  },
  {
    hello: (name) => ({
      protocol: 1,
      version: chrome.runtime.getManifest().version,
      name: name ?? browserName(navigator),
      product: product(navigator),
    }),
    call: (name, params) => relay.call(name, params),
    told: () => {},
    // Nobody drives the tabs now: the bar goes, the lending stays.
    lost: () => void relay.debugging.detachAll(),
    changed,
  },
);
const desk = new Desk({ chrome, link, relay, ledger, navigator });

function changed() {
  void showBadge(chrome, link.state, ledger.size);
  chrome.runtime.sendMessage({ event: "changed" }).catch(() => {});
}
ledger.listeners.push(changed);

// Listeners run only after the ledger is read: an event may be the very thing that woke us.
const ready = (async () => {
  await Promise.all([ledger.load(), link.load()]);
  await relay.restore();
  changed();
  void link.tick();
})();
const after = (fn) => (...args) => void ready.then(() => fn(...args));

chrome.debugger.onEvent.addListener(after((s, m, p) => relay.debuggerEvent(s, m, p)));
chrome.debugger.onDetach.addListener(after((s, r) => relay.debuggerDetached(s, r)));
chrome.webNavigation.onCreatedNavigationTarget.addListener(after((n) => relay.tabOpened(n.tabId, n.sourceTabId)));
chrome.tabs.onRemoved.addListener(after((id) => relay.tabRemoved(id)));
chrome.tabs.onReplaced.addListener(after((added, removed) => relay.tabReplaced(added, removed)));
chrome.tabs.onUpdated.addListener(after((id) => relay.tabUpdated(id)));
chrome.runtime.onMessage.addListener((ask, sender, reply) => {
  if (!ask?.ask) return false;
  void ready.then(() => desk.answer(ask, sender)).then(reply);
  return true;
});
chrome.alarms.onAlarm.addListener(after(() => link.tick()));
chrome.runtime.onStartup.addListener(after(() => link.tick()));
chrome.alarms.create("connect", { periodInMinutes: 0.5 });
