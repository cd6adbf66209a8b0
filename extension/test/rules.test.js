import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { test } from "node:test";

import { addressOf, browserName, codeOf } from "../relay/address.js";
import { badgeOf } from "../relay/badge.js";
import { colourOf } from "../relay/groups.js";
import { allowed, lendable, mayOpen } from "../relay/rules.js";

const read = (path) => readFileSync(new URL(`../${path}`, import.meta.url), "utf8");

test("commands that reach beyond the tab are not carried", () => {
  for (const method of [
    "Network.getAllCookies", "Network.getCookies", "Network.setCookie", "Network.clearBrowserCookies", "Storage.getCookies",
    "Target.getTargets", "Target.createTarget", "Target.attachToTarget", "Target.closeTarget", "Target.setDiscoverTargets",
    "Target.exposeDevToolsProtocol", "Browser.close", "Browser.setPermission", "SystemInfo.getInfo", "Page.setDownloadBehavior",
    "Extensions.loadUnpacked", "Tethering.bind", "Autofill.trigger", "WebAuthn.enable", "", "constructor", "__proto__.x",
  ]) {
    assert.equal(allowed(method), false, method);
  }
  assert.equal(allowed(undefined), false);
  assert.equal(allowed("Target.getTargetInfo", { targetId: "other" }), false);
  assert.equal(allowed("Target.setAutoAttach", { autoAttach: true }), false);
});

test("what a page needs is carried", () => {
  for (const method of ["Runtime.evaluate", "DOM.describeNode", "Input.dispatchKeyEvent", "Input.insertText", "Page.captureScreenshot", "Page.handleJavaScriptDialog", "Accessibility.getFullAXTree"]) {
    assert.equal(allowed(method), true, method);
  }
  assert.equal(allowed("Target.setAutoAttach", { autoAttach: true, flatten: true }), true);
  assert.equal(allowed("Page.navigate", { url: "https://example.org/" }), true);
});

test("a tab goes to web pages only", () => {
  for (const url of ["http://a/", "https://a/", "about:blank", "file:///tmp/x"]) assert.equal(mayOpen(url), true, url);
  for (const url of ["chrome://x", "chrome-extension://x/", "javascript:1", "data:,x", "view-source:http://a", "devtools://x", "edge://x", "blob:http://a/x", "about:config", "", " ", undefined, {}]) {
    assert.equal(mayOpen(url), false, String(url));
  }
});

test("what can be lent", () => {
  assert.equal(lendable("https://example.org/"), undefined);
  assert.equal(lendable("chrome://newtab/"), "tabRestricted");
  assert.equal(lendable("https://chromewebstore.google.com/"), "tabRestricted");
  assert.equal(lendable(undefined), "tabUnknown");
});

test("addresses are of this machine, however they are typed", () => {
  for (const typed of ["127.0.0.1:47800", " localhost:47800 ", "47800", "http://127.0.0.1:47800/mcp", "ws://localhost:47800/extension"]) {
    assert.equal(addressOf(typed), "127.0.0.1:47800", typed);
  }
  for (const typed of ["", "example.org:80", "192.168.1.2:47800", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1.evil.test:80", "user@127.0.0.1:80", undefined]) {
    assert.equal(addressOf(typed), undefined, String(typed));
  }
});

test("codes", () => {
  assert.equal(codeOf(" abcd-2345 "), "ABCD2345");
  assert.equal(codeOf("ABCD 2345"), "ABCD2345");
  for (const typed of ["", "ABCD", "ABCD-23456", undefined]) assert.equal(codeOf(typed), undefined);
});

test("names", () => {
  const of = (brands, platform) => browserName({ userAgentData: { brands: brands.map((brand) => ({ brand })), platform } });
  assert.equal(of(["Not A;Brand", "Chromium", "Google Chrome"], "Windows"), "Chrome on Windows");
  assert.equal(of(["Chromium", "Microsoft Edge"], "macOS"), "Edge on macOS");
  assert.equal(browserName({}), "Chromium");
});

test("the badge tells the states apart", () => {
  assert.deepEqual(badgeOf("connected", 2), { icon: "on", text: "2", color: "#b06000", title: "badgeLent" });
  assert.equal(badgeOf("refused", 2).text, "!");
  const shown = ["unpaired", "waiting", "connected", "refused"].map((s) => JSON.stringify(badgeOf(s, 0)));
  assert.equal(new Set(shown).size, 4);
});

test("a group's colour stays", () => {
  assert.equal(colourOf("Claude Code"), colourOf("Claude Code"));
});

test("the manifest pins the id, asks for five permissions and lets nobody in", () => {
  const manifest = JSON.parse(read("manifest.json"));
  const id = createHash("sha256").update(Buffer.from(manifest.key, "base64")).digest("hex").slice(0, 32)
    .replace(/./g, (c) => String.fromCharCode(97 + parseInt(c, 16)));
  assert.equal(id, "gdkdipmegppdlcihkchkdeikhpocmaip");
  assert.deepEqual(manifest.permissions.sort(), ["alarms", "debugger", "storage", "tabGroups", "webNavigation"]);
  for (const key of ["host_permissions", "optional_permissions", "content_scripts", "web_accessible_resources"]) {
    assert.equal(manifest[key], undefined, key);
  }
  assert.deepEqual(manifest.externally_connectable, { ids: [] });
  assert.equal(manifest.minimum_chrome_version, "125");
});

test("both languages say the same things, and all that is asked for", () => {
  const [en, zh] = ["en", "zh_CN"].map((l) => JSON.parse(read(`_locales/${l}/messages.json`)));
  assert.deepEqual(Object.keys(en), Object.keys(zh));
  for (const key of Object.keys(en)) {
    assert.deepEqual([...en[key].message.matchAll(/\$\d/g)].map(String).sort(), [...zh[key].message.matchAll(/\$\d/g)].map(String).sort(), key);
  }
  assert.ok(en.description.message.length <= 132);
  const asked = [...read("popup/popup.html").matchAll(/data-text="(\w+)"/g)].map((m) => m[1]);
  asked.push(...[...read("popup/popup.js").matchAll(/text\("(\w+)"/g)].map((m) => m[1]));
  asked.push(...[...read("relay/badge.js").matchAll(/title: "(\w+)"/g)].map((m) => m[1]));
  asked.push(...[...read("relay/desk.js").matchAll(/"((?:pair|ask)[A-Z]\w+)"/g)].map((m) => m[1]));
  for (const key of asked) assert.ok(en[key], key);
});

test("the relay names no tool", () => {
  const tools = /browser_(navigate|click|type|screenshot)|computer_/;
  for (const file of readdirSync(new URL("../relay/", import.meta.url))) assert.doesNotMatch(read(`relay/${file}`), tools);
});
