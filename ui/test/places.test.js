/** Activity, AI programs, browsers, gateway: the pages that ask the app for more than the snapshot. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.js";
import { scenes } from "./scenes.js";
import { entries, plan } from "./state.js";

test("activity: newest first, growing by what happens, older on demand", async () => {
  const page = await load("index", undefined, "#activity");
  await page.until(() => page.document.querySelectorAll(".event").length === 6);
  const first = entries(Date.now())[0];
  assert.ok(first);
  const running = { ...first, seq: 201, end: null, result: "running", tool: "computer_file_read" };
  page.fake.send("activity", running);
  await page.until(() => page.document.querySelector('[data-seq="201"][data-result="running"]'));
  page.fake.send("activity", { ...running, end: running.start + 50, result: "ok" });
  await page.until(() => page.document.querySelector('[data-seq="201"][data-result="ok"]'));
  assert.deepEqual([...page.document.querySelectorAll(".event")].map((one) => one.getAttribute("data-seq")), ["201", "200", "199", "198", "197", "196", "195"]);
  await page.press("older");
  assert.deepEqual(page.orders("activity").at(-1), ["activity", { before: 195, limit: 50, filter: "" }]);
  assert.equal(page.has("older"), false);
  page.close();
});

test("activity: filter, verify, export, clear", async () => {
  const page = await load("index", undefined, "#activity");
  await page.until(() => page.document.querySelectorAll(".event").length === 6);
  await page.fill("filter", "denied");
  await page.until(() => page.document.querySelectorAll(".event").length === 1);
  assert.match(page.document.querySelector(".event")?.textContent ?? "", /Not allowed/);
  await page.press("verify");
  assert.ok(page.document.querySelector('[role=status][data-place="verify"]')?.textContent?.includes("complete and unchanged. (/home/ann/.local/state/deskhand/audit.jsonl: 1204 lines hold)"));
  await page.press("export");
  assert.match(page.document.querySelector('[data-place="export"]')?.textContent ?? "", /Saved as \/home\/ann/);
  await page.press("clear");
  await page.press("clear-yes");
  assert.equal(page.orders("clear_activity").length, 1);
  page.close();
});

test("activity: the person's words find what the journal calls otherwise", async () => {
  const page = await load("index", (s) => void (s.language = "zh-CN"), "#activity");
  await page.until(() => page.document.querySelectorAll(".event").length === 6);
  await page.fill("filter", "点击");
  await page.until(() => page.document.querySelectorAll(".event").length === 1);
  assert.match(page.document.querySelector(".event")?.textContent ?? "", /点击/);
  const asked = page.orders("activity").map(([, args]) => args.filter);
  assert.ok(asked.includes("computer_mouse_click") && asked.includes("browser_click"), String(asked));
  page.close();
});

test("activity: only pictures that are data are shown", async () => {
  const page = await load("index", undefined, "#activity");
  await page.until(() => page.document.querySelector(".picture"));
  const first = entries(Date.now())[0];
  assert.ok(first);
  page.fake.send("activity", { ...first, seq: 300, picture: "http://somewhere.example/x.png" });
  await page.until(() => page.document.querySelector('[data-seq="300"]'));
  assert.equal(page.document.querySelector('[data-seq="300"] img'), null);
  page.close();
});

test("connect: the exact change is shown before it is made", async () => {
  const page = await load("index", undefined, "#connect");
  await page.until(() => page.has("connect-cursor"));
  assert.equal(page.has("connect-zed"), false, "what cannot be read is not touched");
  await page.press("connect-cursor");
  assert.deepEqual(page.orders("client_plan"), [["client_plan", { client: "cursor", action: "install" }]]);
  assert.equal(page.document.activeElement?.id, "plan-cursor");
  const diff = page.document.querySelector(".diff")?.textContent;
  assert.equal(diff, `${plan.files[0]?.diff}\n`);
  assert.equal(page.orders("client_apply").length, 0);
  await page.press("cancel-cursor");
  assert.equal(page.document.activeElement?.id, "connect-cursor");
  await page.press("connect-cursor");
  await page.press("apply-cursor");
  assert.deepEqual(page.orders("client_apply"), [["client_apply", { plan: 7 }]]);
  await page.until(() => page.document.querySelector('[data-place="client-cursor"]'));
  assert.match(page.text("client-cursor"), /Switch deskhand on in Cursor's settings/);
  await page.press("disconnect-claude-code");
  assert.deepEqual(page.orders("client_plan").at(-1), ["client_plan", { client: "claude-code", action: "uninstall" }]);
  page.close();
});

test("connect: a refused change leaves the plan in sight with the reason", async () => {
  const page = await load("index", undefined, "#connect");
  await page.until(() => page.has("connect-cursor"));
  await page.press("connect-cursor");
  page.fake.refusals.set("client_apply", "The file has changed since. Look at the change again.");
  await page.press("apply-cursor");
  assert.match(page.document.querySelector("#client-cursor [role=alert]")?.textContent ?? "", /has changed since/);
  assert.ok(page.has("apply-cursor"));
  page.close();
});

test("browser: a code with its address and time, a new one after that", async () => {
  const page = await load("index", scenes.fresh, "#browser");
  await page.press("start-pairing");
  assert.equal(page.text("pairing-code"), "KXQ7-M2RD");
  assert.equal(page.text("pairing-address"), "127.0.0.1:47800");
  assert.match(page.text("pairing-left"), /\d:\d\d$/);
  page.fake.change((s) => s.browser.pairing && (s.browser.pairing.expires = Date.now() - 1));
  await page.until(() => !page.has("pairing-code"));
  assert.equal(page.text("start-pairing"), "Show a new code");
  page.close();
});

test("browser: rename, prefer, revoke", async () => {
  const page = await load("index", undefined, "#browser");
  await page.press("rename-b2");
  assert.equal(page.document.activeElement?.id, "name-b2");
  page.get("name-b2").value = "Edge, home";
  await page.press("save-name-b2");
  await page.until(() => !page.has("name-b2"));
  await page.press("prefer-b2");
  await page.press("revoke-b1");
  await page.press("revoke-b1-yes");
  assert.deepEqual(page.orders(), [
    ["rename_browser", { id: "b2", name: "Edge, home" }],
    ["prefer_browser", { id: "b2" }],
    ["revoke_browser", { id: "b1" }],
  ]);
  page.close();
});

test("gateway: plain http needs a tick, and the password is nowhere but in the order", async () => {
  const page = await load("index", scenes.fresh, "#gateway");
  await page.fill("gateway-server", "http://gateway.example");
  assert.equal(page.get("sign-in").disabled, true);
  await page.press("accept-plain");
  page.get("gateway-user").value = "ann";
  page.get("gateway-password").value = "correct horse";
  page.fake.refusals.set("sign_in", "The server does not know this user and password.");
  await page.press("sign-in");
  assert.deepEqual(page.orders("sign_in"), [["sign_in", { server: "http://gateway.example", user: "ann", password: "correct horse", acceptPlain: true }]]);
  assert.equal(page.get("gateway-password").value, "");
  assert.equal(page.get("gateway-user").value, "ann");
  assert.match(page.document.querySelector("#sign-in-form [role=alert]")?.textContent ?? "", /does not know/);
  await page.fill("gateway-server", "https://gateway.example");
  assert.equal(page.has("accept-plain"), false);
  page.close();
});

test("gateway: its state in words, connect again, sign out", async () => {
  const page = await load("index", scenes.replaced, "#gateway");
  assert.match(page.text("gateway-state"), /Another computer took over/);
  await page.press("reconnect");
  await page.press("sign-out");
  await page.press("sign-out-yes");
  assert.deepEqual(page.orders().map(([name]) => name), ["reconnect_gateway", "sign_out"]);
  await page.until(() => page.has("sign-in"));
  page.close();
});
