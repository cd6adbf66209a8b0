/** The colours can be read: every pair that is used, in both themes, by the rules of WCAG 2.2 level AA. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const css = await readFile(new URL("../app/style.css", import.meta.url), "utf8");
/** @type {{ [name: string]: [string, string] }} */
const colours = {};
for (const [, name, light, dark] of css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)) colours[name ?? ""] = [light ?? "", dark ?? ""];

/** Relative luminance of `#rrggbb`. @param {string} colour */
function luminance(colour) {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {string} a @param {string} b */
function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

/** @param {string} name @param {number} theme */
function colour(name, theme) {
  if (name.startsWith("#")) return name;
  const found = colours[name]?.[theme];
  assert.ok(found, `there is no colour ${name}`);
  return found;
}

/** What is written on what. @type {[string, string[]][]} */
const texts = [
  ["ink", ["ground", "side", "card", "accent-tint", "warn-tint", "danger-tint", "line"]],
  ["soft", ["ground", "side", "card", "accent-tint", "danger-tint", "warn-tint"]],
  ["accent", ["ground", "side", "card", "accent-tint"]],
  ["on-accent", ["accent"]],
  ["good", ["card", "ground"]],
  ["warn", ["card", "ground", "side", "warn-tint"]],
  ["danger", ["card", "ground", "side", "danger-tint"]],
  ["on-danger", ["danger"]],
  ["on-live", ["live"]],
  ["live-soft", ["live"]],
  ["#b3261e", ["#ffffff"]],
];

/** What must be told apart by its shape: edges of controls, the mark of the focus. @type {[string, string[]][]} */
const shapes = [
  ["edge", ["card", "ground", "side"]],
  ["accent", ["card", "ground", "side", "accent-tint", "danger-tint", "warn-tint"]],
  ["on-live", ["live"]],
  ["#5fe08a", ["live"]],
  ["warn", ["warn-tint"]],
];

for (const [theme, name] of [[0, "light"], [1, "dark"]]) {
  test(`texts and shapes stand out in the ${name} theme`, () => {
    for (const [least, pairs] of /** @type {[number, [string, string[]][]][]} */ ([[4.5, texts], [3, shapes]])) {
      for (const [front, backs] of pairs) {
        for (const back of backs) {
          const ratio = contrast(colour(front, Number(theme)), colour(back, Number(theme)));
          assert.ok(ratio >= least, `${front} on ${back}: ${ratio.toFixed(2)} of ${least}`);
        }
      }
    }
  });
}
