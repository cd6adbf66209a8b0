/** Times, keys and the texts of others, as a person reads them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { texts } from "../app/language.js";
import { laidOut, visible } from "../app/shown.js";
import { day, left, took } from "../app/time.js";
import { chord } from "../app/pages/settings.js";

test("what is left runs down like a clock and never below nothing", () => {
  assert.deepEqual([872_000, 59_001, 3_730_000, 0, -5].map(left), ["14:32", "1:00", "1:02:10", "0:00", "0:00"]);
});

test("days near now have names", () => {
  const t = texts("en");
  const noon = new Date(2026, 2, 30, 12).getTime();
  assert.equal(day(t, noon - 3_600_000, noon), "Today");
  assert.equal(day(t, noon - 86_400_000, noon), "Yesterday");
  assert.match(day(t, noon - 5 * 86_400_000, noon), /March 25/);
  assert.match(day(texts("zh-CN"), noon - 5 * 86_400_000, noon), /3月25日/);
});

test("how long it took is short for short and whole for long", () => {
  assert.deepEqual([95, 25_000].map((time) => took(texts("en"), time)), ["0.1 s", "25 s"]);
  assert.equal(took(texts("zh-CN"), 1460), "1.5 秒");
});

test("what would hide or turn round other text is written out", () => {
  assert.equal(visible("a\u202eb\u200bc\u0007\n\td"), "a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩\n\td");
  assert.equal(laidOut('{"a":"\\u202e"}'), '{\n  "a": "⟨U+202E⟩"\n}');
  assert.equal(laidOut("not json\u200f"), "not json⟨U+200F⟩");
});

test("values stand where they belong and only there", () => {
  const t = texts("en");
  assert.equal(t("permissions.always", { group: "{group} $& <b>" }), "Always allowed: {group} $& <b>");
  assert.equal(t.find("tool.no_such"), null);
});

test("keys that are pressed together are written as people write them", () => {
  const none = { ctrlKey: false, altKey: false, shiftKey: false, metaKey: false };
  const press = (/** @type {object} */ event) => chord(/** @type {KeyboardEvent} */ ({ ...none, code: "", ...event }));
  assert.equal(press({ key: "Escape", code: "Escape", ctrlKey: true, altKey: true }), "Ctrl+Alt+Esc");
  assert.equal(press({ key: "å", code: "KeyA", altKey: true, shiftKey: true }), "Alt+Shift+A");
  assert.equal(press({ key: "F9", code: "F9", metaKey: true }), "Super+F9");
  assert.equal(press({ key: "a", code: "KeyA" }), null);
  assert.equal(press({ key: "Control", code: "ControlLeft", ctrlKey: true }), null);
});
