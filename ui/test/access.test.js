/** Every page can be used without seeing it: names, labels, roles and references, by the rules of axe, in both languages. */

import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import { load } from "./page.js";
import { scenes } from "./scenes.js";

/** Page, scene, address, what is pressed first. @type {["index" | "consent" | "pill", string, string, string[]][]} */
const views = [
  ["index", "off", "", ["for-chosen"]],
  ["index", "on", "", []],
  ["index", "paused", "", []],
  ["index", "problem", "#permissions", ["add-folder"]],
  ["index", "on", "#activity", ["clear"]],
  ["index", "off", "#connect", ["connect-cursor"]],
  ["index", "pairing", "#browser", ["rename-b2", "revoke-b1"]],
  ["index", "fresh", "#gateway", []],
  ["index", "replaced", "#gateway", ["sign-out"]],
  ["index", "off", "#settings", ["record-stop-key"]],
  ["index", "first", "", []],
  ["index", "first", "", ["next"]],
  ["consent", "group", "", []],
  ["consent", "authorize", "", []],
  ["consent", "off", "", []],
  ["pill", "on", "", []],
];

for (const [name, scene, hash, pressed] of views) {
  test(`${name}${hash} ${scene} ${pressed.join(" ")}`, async () => {
    for (const language of /** @type {const} */ (["en", "zh-CN"])) {
      const page = await load(name, (s) => {
        scenes[scene]?.(s);
        s.language = language;
      }, hash);
      for (const id of pressed) {
        await page.until(() => page.has(id));
        await page.press(id);
      }
      const ids = [...page.document.querySelectorAll("[id]")].map((one) => one.id);
      assert.deepEqual(ids.filter((id, n) => ids.indexOf(id) !== n), [], "an id is there twice");
      page.window.eval(axe.source);
      // Contrast is computed from the colours in a test of its own: here nothing has a size.
      const found = await /** @type {any} */ (page.window).axe.run(page.document, { rules: { "color-contrast": { enabled: false } } });
      assert.deepEqual(Array.from(found.violations, (/** @type {any} */ one) => `${one.id}: ${one.nodes.map((/** @type {any} */ node) => node.html).join(" ")}`), []);
      page.close();
    }
  });
}
