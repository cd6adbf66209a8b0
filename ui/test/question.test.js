/** The question and the pill: nothing is allowed by accident, and what is asked can be seen in full. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.js";
import { scenes } from "./scenes.js";

/** @param {any} page */
const alive = (page) => page.until(() => page.get("refuse").getAttribute("aria-disabled") === null);

test("it says who asks, which program, for what, exactly", async () => {
  const page = await load("consent", scenes.group);
  assert.equal(page.text("page-title"), "Claude Code wants to type and press keys");
  assert.equal(page.text("ask-caller"), "Claude Code");
  assert.match(page.text("ask-program"), /\/usr\/bin\/node/);
  assert.match(page.text("ask-tool"), /Type text.*computer_keyboard_type/);
  assert.match(page.text("ask-arguments"), /"length": 40/);
  assert.match(page.text("ask-arguments"), /⟨U\+202E⟩/);
  assert.match(page.text("ask-left"), /\d:\d\d$/);
  assert.equal(page.text("ask-waiting"), "2 more waiting");
  page.close();
});

test("a question that has just appeared cannot be answered", async () => {
  const page = await load("consent", scenes.group);
  for (const id of ["allow-once", "allow-session", "allow-always", "refuse"]) {
    assert.equal(page.get(id).getAttribute("aria-disabled"), "true");
    await page.press(id);
  }
  assert.deepEqual(page.orders(), []);
  assert.equal(page.document.activeElement?.id, "page-title", "no answer has the focus");
  await alive(page);
  page.fake.change((s) => s.question && Object.assign(s.question, { id: 4, callerName: "Cursor" }));
  await page.until(() => page.text("ask-caller") === "Cursor");
  await page.press("allow-always");
  assert.deepEqual(page.orders(), [], "nor can the one that took its place");
  page.close();
});

for (const [id, answer] of [["allow-once", "once"], ["allow-session", "session"], ["allow-always", "always"], ["refuse", "refuse"]]) {
  test(`#${id} answers ${answer}`, async () => {
    const page = await load("consent", scenes.group);
    await alive(page);
    await page.press(String(id));
    assert.deepEqual(page.orders(), [["answer", { id: 3, answer, grant: null }]]);
    assert.match(page.text("page-title"), /no question/);
    page.close();
  });
}

test("Escape answers nothing, and a key held down allows nothing", async () => {
  const page = await load("consent", scenes.group);
  await alive(page);
  const press = (/** @type {KeyboardEventInit} */ init) => page.get("allow-once").dispatchEvent(new page.window.KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...init }));
  press({ key: "Escape" });
  assert.equal(press({ key: "Enter", repeat: true }), false, "the repeated key has no effect");
  assert.deepEqual(page.orders(), []);
  page.close();
});

test("authorising begins with what the call needs, for who asks", async () => {
  const page = await load("consent", scenes.authorize);
  await alive(page);
  assert.equal(page.get("group-keyboard").checked, true);
  assert.equal(page.get("group-screen").checked, false);
  await page.press("group-screen");
  await page.press("minutes-60");
  await page.press("authorize");
  assert.deepEqual(page.orders(), [["answer", { id: 3, answer: "authorize", grant: { groups: ["screen", "keyboard"], minutes: 60, callers: ["claude-code"] } }]]);
  page.close();
});

test("authorising: everything for everybody is two presses, nothing at all is none", async () => {
  const page = await load("consent", scenes.authorize);
  await alive(page);
  await page.press("group-keyboard");
  assert.equal(page.get("authorize").disabled, true);
  await page.press("groups-all");
  await page.press("for-everybody");
  await page.press("authorize");
  const grant = page.orders()[0]?.[1].grant;
  assert.equal(grant.callers, null);
  assert.equal(grant.groups.length, 8, "what is switched off stays off");
  page.close();
});

test("an answer that fails is told and can be given again", async () => {
  const page = await load("consent", scenes.group);
  await alive(page);
  page.fake.refusals.set("answer", "The question was taken back.");
  await page.press("refuse");
  assert.equal(page.document.querySelector(".ask-end [role=alert]")?.textContent, "The question was taken back.");
  page.fake.refusals.clear();
  await page.press("refuse");
  assert.equal(page.orders("answer").length, 2);
  page.close();
});

test("an app that does not answer is told, and a later word of it brings the window to life", async () => {
  const page = await load("pill", (snapshot, fake) => {
    scenes.on?.(snapshot);
    fake.refusals.set("snapshot", "Deskhand is still starting.");
  });
  await page.until(() => page.document.querySelector("[role=alert]")?.textContent === "Deskhand is still starting.");
  page.fake.change(() => {});
  await page.until(() => page.has("pill-text"));
  page.close();
});

test("the pill says who does what, and stops", async () => {
  const page = await load("pill", scenes.on);
  assert.equal(page.text("pill-text"), "AI is acting · Claude Code · Click");
  await page.press("stop");
  assert.deepEqual(page.orders(), [["stop", {}]]);
  assert.equal(page.text("pill-text"), "AI control is off");
  page.close();
});
