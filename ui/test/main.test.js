/** The main window, page by page: what a person does leads to the order it should, and what the app says is shown. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.js";
import { scenes } from "./scenes.js";

test("the one switch authorises what is chosen, and stops", async () => {
  const page = await load("index");
  assert.equal(page.text("state"), "AI control is off");
  assert.equal(page.get("authorize").getAttribute("aria-checked"), "false");
  assert.equal(page.get("group-file_write").disabled, true);
  await page.press("minutes-60");
  await page.press("group-browser_script");
  await page.press("for-chosen");
  await page.press("caller-claude-code");
  await page.press("authorize");
  const groups = ["screen", "mouse", "keyboard", "file_read", "file_list", "browser_read", "browser_act"];
  assert.deepEqual(page.orders(), [["authorize", { groups, minutes: 60, callers: ["claude-code"] }]]);
  assert.equal(page.text("state"), "AI control is on");
  assert.equal(page.text("live"), "AI control is on");
  assert.match(page.text("time-left"), /^(1:00:00|59:\d\d)$/);
  assert.match(page.text("whom"), /Claude Code/);
  await page.press("authorize");
  assert.deepEqual(page.orders().at(-1), ["stop", {}]);
  assert.match(page.text("meaning"), /You stopped it\. No AI can see/);
  page.close();
});

test("nothing chosen means nothing to switch on", async () => {
  const page = await load("index");
  await page.press("for-chosen");
  assert.equal(page.get("authorize").disabled, true);
  await page.press("authorize");
  assert.deepEqual(page.orders(), []);
  page.close();
});

test("while it is on: extend, pause, resume, stop", async () => {
  const page = await load("index", scenes.on);
  assert.match(page.text("acting"), /Claude Code.*Click/);
  for (const id of ["extend", "extend-60", "pause"]) await page.press(id);
  assert.equal(page.text("state"), "AI control is paused");
  assert.match(page.text("meaning"), /You paused it\..*must look again first/);
  await page.press("resume");
  await page.press("stop");
  assert.deepEqual(page.orders(), [["extend", { minutes: 15 }], ["extend", { minutes: 60 }], ["pause", {}], ["resume", {}], ["stop", {}]]);
  assert.equal(page.has("stop"), false);
  page.close();
});

test("a reason the pages do not know is told as the app says it", async () => {
  const page = await load("index", (s) => Object.assign(s.control, { reason: "other", why: "the moon is full" }));
  assert.match(page.text("meaning"), /^The moon is full\./);
  page.close();
});

test("what fails is told where it was asked, in a live region, and goes when it is tried again", async () => {
  const page = await load("index");
  page.fake.refusals.set("authorize", "The screen is locked. Unlock it first.");
  await page.press("authorize");
  const told = page.document.querySelector(".panel [role=alert]");
  assert.equal(told?.textContent, "The screen is locked. Unlock it first.");
  page.fake.refusals.clear();
  await page.press("authorize");
  assert.equal(page.document.querySelector("[role=alert]"), null);
  page.close();
});

test("pages follow the links, the tray and the language", async () => {
  const page = await load("index", scenes.on);
  await page.press("nav-permissions");
  await page.until(() => page.has("allow-screen"));
  assert.equal(page.get("nav-permissions").getAttribute("aria-current"), "page");
  assert.equal(page.document.activeElement?.id, "page-title");
  assert.ok(page.has("stop"), "Stop is on every page while control is on");
  page.fake.send("page", "settings");
  await page.until(() => page.has("setting-language"));
  page.fake.change((s) => void (s.language = "zh-CN"));
  await page.until(() => page.text("page-title") === "设置");
  assert.equal(page.document.documentElement.lang, "zh-CN");
  page.close();
});

test("a problem is shown on every page and nothing can be switched on", async () => {
  const page = await load("index", scenes.problem);
  assert.match(page.text("problem"), /Another Deskhand uses the folder/);
  assert.equal(page.get("authorize").disabled, true);
  await page.press("nav-settings");
  await page.until(() => page.has("setting-language"));
  assert.ok(page.has("problem"));
  page.close();
});

test("permissions: groups, folders that need a second thought, answers taken back", async () => {
  const page = await load("index", undefined, "#permissions");
  await page.press("allow-file_write");
  assert.equal(page.get("allow-file_write").checked, true);
  page.fake.refusals.set("set_group", "It cannot be saved: the disk is full.");
  await page.press("allow-screen");
  assert.equal(page.get("allow-screen").checked, true, "a switch shows what is so");
  await page.press("add-folder");
  await page.until(() => page.has("folder-keep"));
  assert.equal(page.document.activeElement?.id, "folder-keep");
  assert.equal(page.orders("add_folder").length, 0);
  await page.press("folder-anyway");
  assert.deepEqual(page.orders("add_folder"), [["add_folder", { path: "/home/ann/.ssh" }]]);
  await page.press("remove-folder-0");
  assert.deepEqual(page.orders("remove_folder"), [["remove_folder", { path: "/home/ann/shared" }]]);
  await page.press("forget-claude-code-browser_read");
  assert.equal(page.orders("forget_standing").length, 0);
  await page.press("forget-claude-code-browser_read-yes");
  assert.deepEqual(page.orders("forget_standing"), [["forget_standing", { caller: "claude-code", group: "browser_read" }]]);
  assert.equal(page.has("forget-claude-code-browser_read"), false);
  page.close();
});

test("settings: each change is an order of its own, a wrong one is told beside it", async () => {
  const page = await load("index", undefined, "#settings");
  await page.fill("setting-language", "zh-CN");
  await page.press("start-at-login");
  await page.fill("block-origins", " https://a.example \n\nhttps://b.example");
  await page.fill("port", "47801");
  assert.deepEqual(
    page.orders().map(([, args]) => args.settings),
    [{ language: "zh-CN" }, { startAtLogin: true }, { blockOrigins: ["https://a.example", "https://b.example"] }, { port: 47801 }],
  );
  assert.match(page.document.querySelector("main > .remark")?.textContent ?? "", /started again/);
  page.fake.refusals.set("set_settings", "Port 80 is taken.");
  await page.fill("port", "80");
  assert.match(page.get("port").closest(".field").textContent, /Port 80 is taken\./);
  page.close();
});

test("settings: the stop key is what is pressed; Tab leaves it", async () => {
  const page = await load("index", undefined, "#settings");
  const press = (/** @type {KeyboardEventInit} */ init) => page.get("stop-key").dispatchEvent(new page.window.KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init }));
  await page.press("record-stop-key");
  assert.equal(page.document.activeElement?.id, "stop-key");
  press({ key: "Tab", code: "Tab" });
  await page.until(() => page.get("record-stop-key").getAttribute("aria-pressed") === "false");
  await page.press("record-stop-key");
  press({ key: "Control", code: "ControlLeft", ctrlKey: true });
  press({ key: "F12", code: "F12", ctrlKey: true });
  await page.until(() => page.orders("set_settings").length === 1);
  assert.deepEqual(page.orders("set_settings")[0]?.[1], { settings: { stopKey: "Ctrl+F12" } });
  page.close();
});

test("what cannot be undone is asked first, and Keep is where the focus is", async () => {
  const page = await load("index", undefined, "#settings");
  await page.press("reset");
  assert.equal(page.document.activeElement?.id, "reset-keep");
  await page.press("reset-keep");
  assert.equal(page.document.activeElement?.id, "reset");
  assert.deepEqual(page.orders(), []);
  await page.press("reset");
  await page.press("reset-yes");
  assert.deepEqual(page.orders(), [["reset_settings", {}]]);
  page.close();
});

test("the first screens: what it is, a test, a first connection, then the pages", async () => {
  const page = await load("index", scenes.first);
  assert.equal(page.text("page-title"), "Welcome to Deskhand");
  assert.equal(page.has("nav-control"), false);
  await page.press("next");
  await page.until(() => page.document.querySelector('[data-check="reading"]'));
  assert.match(page.document.querySelector('[data-check="reading"]')?.textContent ?? "", /apt-get install/);
  await page.press("next");
  await page.until(() => page.has("connect-cursor"));
  await page.press("finish");
  await page.until(() => page.has("authorize"));
  assert.deepEqual(page.orders().map(([name]) => name), ["examine", "clients", "finish_first_run"]);
  page.close();
});
