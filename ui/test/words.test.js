/** Both languages say the same things, and everything the product has a name for has words. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import en from "../app/words/en.js";
import zh from "../app/words/zh-CN.js";

/** @param {string} text */
const places = (text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]).sort();
const english = /** @type {{ [word: string]: string }} */ (en);
const chinese = /** @type {{ [word: string]: string }} */ (zh);

test("both languages have the same words in the same order", () => {
  assert.deepEqual(Object.keys(zh), Object.keys(en));
});

test("no word is empty and each has the same places to fill", () => {
  for (const word of Object.keys(english)) {
    assert.ok(english[word]?.trim(), word);
    assert.ok(chinese[word]?.trim(), word);
    assert.deepEqual(places(chinese[word] ?? ""), places(english[word] ?? ""), word);
  }
});

test("Chinese is Chinese, but for names", () => {
  const names = new Set(["list.separator", "sentences", "connect.because", "settings.version"]);
  for (const [word, text] of Object.entries(chinese)) assert.ok(names.has(word) || /\p{Script=Han}/u.test(text), `${word}: ${text}`);
});

test("every tool, group and error of the product has words", async () => {
  const { tools } = JSON.parse(await readFile(new URL("../../crates/tools/tools.json", import.meta.url), "utf8"));
  assert.ok(tools.length > 30);
  for (const tool of tools) {
    assert.ok(`tool.${tool.name}` in english, tool.name);
    for (const group of tool.groups) assert.ok(`group.${group}` in english && `meaning.${group}` in english, group);
  }
  const errors = ["invalid_arguments", "unknown_tool", "consent_pending", "denied", "paused", "look_again", "unavailable", "not_found", "timed_out", "cancelled", "failed"];
  for (const kind of [...errors, "running", "ok", "partly"]) assert.ok(`result.${kind}` in english, kind);
});

test("no word is left over", async () => {
  const { readdir } = await import("node:fs/promises");
  const app = new URL("../app/", import.meta.url);
  const files = (await readdir(app, { recursive: true })).filter((file) => file.endsWith(".js") && !file.startsWith("words"));
  const sources = (await Promise.all(files.map((file) => readFile(new URL(file, app), "utf8")))).join("\n");
  // Words of whole families are put together from a name.
  const families = [...sources.matchAll(/`([\w-]+)\.\$\{/g)].map((found) => `${found[1]}.`);
  const unused = Object.keys(en).filter((word) => !sources.includes(`"${word}"`) && !families.some((family) => word.startsWith(family)));
  assert.deepEqual(unused, []);
});
