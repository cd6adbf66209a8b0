import assert from "node:assert/strict";
import { test } from "node:test";

import { Debugging } from "../relay/debugging.js";
import { Desk } from "../relay/desk.js";
import { Groups } from "../relay/groups.js";
import { Ledger } from "../relay/ledger.js";
import { Openings } from "../relay/openings.js";
import { Relay } from "../relay/relay.js";
import { fakeChrome, settle } from "./chrome.js";

async function stage(chrome = fakeChrome()) {
  const ledger = new Ledger(chrome.storage.session);
  const told = [];
  const relay = new Relay({
    chrome,
    ledger,
    debugging: new Debugging(chrome),
    openings: new Openings(),
    groups: new Groups(chrome),
    tell: (event, params) => told.push([event, params]),
  });
  await ledger.load();
  chrome.tabs.onRemoved.addListener((id) => relay.tabRemoved(id));
  return { chrome, ledger, relay, told };
}

async function lent(url = "https://example.org/") {
  const all = await stage();
  const tab = all.chrome.open(url, { active: true });
  await all.relay.lend(tab.id);
  return { ...all, tab, id: all.ledger.of(tab.id).id };
}

const reason = (expected) => (error) => assert.equal(error.reason, expected) ?? true;
const send = (relay, tab, method, params = {}, session) => relay.call("debugger.sendCommand", { tab, method, params, session });

test("only lent tabs can be reached, by no number of Chrome's", async () => {
  const { chrome, relay, id } = await lent();
  const other = chrome.open("https://bank.example/");
  assert.deepEqual((await relay.states()).tabs.map((t) => t.tab), [id]);
  for (const tab of [other.id, String(other.id), "", undefined, null, "__proto__"]) {
    for (const call of ["tabs.remove", "tabs.update", "tabs.group", "debugger.attach", "debugger.detach", "debugger.sendCommand"]) {
      await assert.rejects(relay.call(call, { tab, method: "Runtime.evaluate" }), reason("not_lent"));
    }
  }
  assert.ok(chrome.all.has(other.id));
  assert.ok(!chrome.attached.has(other.id));
});

test("calls that are not on the list are refused, inherited names too", async () => {
  const { relay } = await lent();
  for (const call of ["tabs.executeScript", "cookies.getAll", "constructor", "toString", "__proto__", "", undefined]) {
    await assert.rejects(relay.call(call, {}), reason("not_allowed"));
  }
});

test("a burst before the first attachment attaches once and keeps its order", async () => {
  const { chrome, relay, id, tab } = await lent();
  chrome.answer = (method, params) => ({ n: params.n });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(relay, id, "Runtime.evaluate", { n })));
  assert.deepEqual(answers.map((a) => a.n), [...Array(20).keys()]);
  assert.equal(chrome.log.filter(([what]) => what === "attach").length, 1);
  const sent = chrome.log.filter(([what, , , method]) => what === "send" && method === "Runtime.evaluate");
  assert.deepEqual(sent.map(([, , , , p]) => p.n), [...Array(20).keys()]);
  assert.ok(chrome.attached.has(tab.id));
});

test("one hanging command holds up no other", async () => {
  const { chrome, relay, id } = await lent();
  chrome.answer = (method) => (method === "Page.captureScreenshot" ? new Promise(() => {}) : { ok: true });
  void send(relay, id, "Page.captureScreenshot");
  assert.deepEqual(await send(relay, id, "Runtime.evaluate"), { ok: true });
});

test("a child session is named in the target", async () => {
  const { chrome, relay, id } = await lent();
  await send(relay, id, "Runtime.evaluate", {}, "S1");
  assert.equal(chrome.log.at(-1)[2], "S1");
});

test("an error of the protocol keeps its code, one of Chrome gets a reason", async () => {
  const { chrome, relay, id } = await lent();
  chrome.answer = () => {
    throw new Error('{"code":-32000,"message":"No node"}');
  };
  await assert.rejects(send(relay, id, "DOM.focus"), (e) => e.reason === "cdp" && e.code === -32000 && e.message === "No node");
  chrome.answer = () => {
    throw new Error("Detached while handling command.");
  };
  await assert.rejects(send(relay, id, "DOM.focus"), reason("detached"));
  chrome.answer = undefined;
  chrome.attached.clear();
  assert.deepEqual(await send(relay, id, "DOM.focus"), {}, "the next command attaches anew");
});

test("another debugger is a conflict that ends when it goes", async () => {
  const { chrome, relay, id, tab } = await lent();
  chrome.all.get(tab.id).held = true;
  await assert.rejects(send(relay, id, "Runtime.evaluate"), (e) => e.reason === "conflict" && /developer tools/.test(e.message));
  chrome.all.get(tab.id).held = false;
  await send(relay, id, "Runtime.evaluate");
});

test("an attachment from before a restart of the service worker is taken over", async () => {
  const { chrome, relay, id, tab } = await lent();
  chrome.attached.add(tab.id);
  await send(relay, id, "Runtime.evaluate");
  const lifeTwo = await stage(chrome);
  assert.equal(lifeTwo.ledger.of(tab.id).id, id, "the ledger outlives the service worker");
  await lifeTwo.relay.restore();
  assert.ok(!chrome.attached.has(tab.id));
  await send(lifeTwo.relay, id, "Runtime.evaluate");
});

test("a tab that was closed while the service worker was away is gone", async () => {
  const { chrome, tab } = await lent();
  await settle();
  chrome.all.delete(tab.id);
  const { relay, ledger, told } = await stage(chrome);
  await relay.restore();
  assert.equal(ledger.size, 0);
  assert.deepEqual(told.map(([e, p]) => [e, p.reason]), [["tab.gone", "closed"]]);
});

test("Cancel on the debugging bar is final until the person lends again", async () => {
  const { chrome, relay, ledger, told, id, tab } = await lent();
  await send(relay, id, "Runtime.evaluate");
  chrome.attached.clear();
  relay.debuggerDetached({ tabId: tab.id }, "canceled_by_user");
  assert.deepEqual(told.at(-1), ["tab.gone", { tab: id, reason: "cancelled" }]);
  await assert.rejects(send(relay, id, "Runtime.evaluate"), reason("not_lent"));
  assert.equal(chrome.attached.size, 0);
  await relay.lend(tab.id);
  const again = ledger.of(tab.id).id;
  assert.notEqual(again, id, "a new lending has a new name");
  await assert.rejects(send(relay, id, "Runtime.evaluate"), reason("not_lent"));
  await send(relay, again, "Runtime.evaluate");
});

test("a lost session is told, and the tab stays lent", async () => {
  const { chrome, relay, told, id, tab } = await lent();
  await send(relay, id, "Runtime.evaluate");
  chrome.attached.clear();
  relay.debuggerDetached({ tabId: tab.id }, "target_closed");
  assert.deepEqual(told.at(-1), ["tab.detached", { tab: id, reason: "target_closed" }]);
  await send(relay, id, "Runtime.evaluate");
});

test("stop takes everything back", async () => {
  const { chrome, relay, ledger, id } = await lent();
  await relay.call("tabs.create", { url: "https://example.org/2", group: "Agent" });
  await send(relay, id, "Runtime.evaluate");
  relay.stop();
  await settle();
  assert.equal(ledger.size, 0);
  assert.equal(chrome.attached.size, 0);
  await assert.rejects(relay.call("tabs.create", { url: "https://example.org/" }), reason("not_lent"));
});

test("a tab for the agent opens only while something is lent, and only at web addresses", async () => {
  const { relay } = await stage();
  await assert.rejects(relay.call("tabs.create", { url: "https://example.org/" }), reason("not_lent"));
  const { relay: open, chrome } = await lent();
  const { tab } = await open.call("tabs.create", { url: "https://example.org/new", group: "Agent One" });
  assert.ok((await open.states()).tabs.some((t) => t.tab === tab && t.by === "agent" && t.group === "Agent One"));
  assert.ok([...chrome.groups.values()].some((g) => g.title === "Agent One"));
  for (const url of ["chrome://settings/", "chrome-extension://self/popup/popup.html", "javascript:alert(1)", "data:text/html,x", "view-source:https://a/"]) {
    await assert.rejects(open.call("tabs.create", { url }), reason("not_allowed"));
  }
});

test("one group per agent, also when two calls come at once", async () => {
  const { relay, chrome } = await lent();
  await Promise.all(["a", "b", "c"].map((p) => relay.call("tabs.create", { url: `https://example.org/${p}`, group: "Agent" })));
  assert.equal([...chrome.groups.values()].filter((g) => g.title === "Agent").length, 1);
});

test("a tab that a lent page opens is lent; one that the person opens from it is not", async () => {
  const { chrome, relay, ledger, tab, id, told } = await lent();
  const announce = (source = tab.id) => relay.debuggerEvent({ tabId: source }, "Page.windowOpen", { url: "https://example.org/pop" });
  const open = (source = tab.id) => {
    const opened = chrome.open("https://example.org/pop");
    relay.tabOpened(opened.id, source);
    return opened.id;
  };
  announce();
  const late = open();
  assert.equal(ledger.of(late)?.by, "page");
  assert.ok(told.some(([e, p]) => e === "tab.lent" && p.opener === id));
  const early = open();
  assert.equal(ledger.of(early), undefined, "a Ctrl-click announces nothing");
  announce();
  assert.equal(ledger.of(early)?.by, "page");
  const other = chrome.open("https://bank.example/");
  announce(other.id);
  assert.equal(ledger.of(open(other.id)), undefined, "nor what other pages open");
  assert.equal(ledger.of(open()), undefined);
});

test("events of tabs that are not lent are not passed on", async () => {
  const { chrome, relay, told, tab, id } = await lent();
  const other = chrome.open("https://bank.example/");
  const before = told.length;
  relay.debuggerEvent({ tabId: other.id }, "Network.requestWillBeSent", { secret: 1 });
  relay.debuggerDetached({ tabId: other.id }, "target_closed");
  assert.equal(told.length, before);
  relay.debuggerEvent({ tabId: tab.id, sessionId: "S" }, "Page.loadEventFired", { t: 1 });
  assert.deepEqual(told.at(-1), ["debugger.event", { tab: id, session: "S", method: "Page.loadEventFired", params: { t: 1 } }]);
});

test("pages of the browser cannot be lent", async () => {
  const { chrome, relay, ledger } = await stage();
  for (const url of ["chrome://settings/", "chrome-extension://self/popup/popup.html", "https://chromewebstore.google.com/x", "devtools://x", ""]) {
    await assert.rejects(relay.lend(chrome.open(url).id), reason("restricted"), url);
  }
  assert.equal(ledger.size, 0);
});

test("a lent tab that comes to the popup's page is taken back", async () => {
  const { chrome, relay, ledger, tab } = await lent();
  chrome.all.get(tab.id).url = "chrome-extension://self/popup/popup.html";
  await relay.tabUpdated(tab.id);
  assert.equal(ledger.size, 0);
});

test("the popup's requests count from the popup alone", async () => {
  const { chrome, relay, ledger, tab } = await lent();
  const desk = new Desk({ chrome, relay, ledger, link: { state: "connected", pairing: {} }, navigator: {} });
  const url = "chrome-extension://self/popup/popup.html";
  const ask = (sender) => desk.answer({ ask: "state" }, sender);
  assert.ok((await ask({ id: "self", url })).result);
  assert.ok((await ask({ id: "other", url })).error);
  assert.ok((await ask({ id: "self", url: "https://evil.test/" })).error);
  assert.ok((await ask({ id: "self" })).error);
  assert.ok((await ask({ id: "self", url, tab: { id: tab.id, windowId: 1 } })).error, "nor from a tab the agent controls");
  assert.ok((await desk.answer({ ask: "constructor" }, { id: "self", url })).error);
  assert.ok((await desk.answer(undefined, { id: "self", url })).error);
});

test("the popup speaks of the tab in front, or of the one before it when it is a tab itself", async () => {
  const { chrome, relay, ledger } = await stage();
  const first = chrome.open("https://a.example/", { active: true, lastAccessed: 1 });
  const later = chrome.open("https://b.example/", { lastAccessed: 2 });
  const desk = new Desk({ chrome, relay, ledger, link: { state: "connected", pairing: {} }, navigator: {} });
  const here = async (tab) => (await desk.state({ tab })).here?.tabId;
  assert.equal(await here(undefined), first.id);
  const popup = chrome.open("chrome-extension://self/popup/popup.html", { active: true, lastAccessed: 3, openerTabId: first.id });
  assert.equal(await here(popup), first.id);
  assert.equal(await here({ ...popup, openerTabId: undefined }), later.id);
});

test("a lent tab that the browser put away is loaded again when it is needed", async () => {
  const { chrome, relay, ledger, id, tab, told } = await lent();
  const away = chrome.open("https://example.org/", { discarded: true });
  relay.tabReplaced(away.id, tab.id);
  assert.equal(ledger.find(id).tabId, away.id);
  assert.equal(told.at(-1)[1].reason, "replaced");
  await send(relay, id, "Runtime.evaluate");
  assert.ok(chrome.attached.has(away.id));
});
