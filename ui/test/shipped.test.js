/** What ships is only what the rules allow: nothing from elsewhere, nothing inline, nothing of the tests, no markup from data. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { extname } from "node:path";
import { test } from "node:test";

const app = new URL("../app/", import.meta.url);
const files = (await readdir(app, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
const sources = await Promise.all(
  files.map(async (entry) => ({ name: `${entry.parentPath ?? entry.path}/${entry.name}`, text: await readFile(`${entry.parentPath ?? entry.path}/${entry.name}`, "utf8") })),
);

test("only pages, scripts and styles ship", () => {
  assert.ok(sources.length > 20);
  for (const { name } of sources) assert.ok([".html", ".js", ".css"].includes(extname(name)), name);
});

test("pages have nothing inline and nothing from elsewhere", () => {
  for (const { name, text } of sources.filter((one) => one.name.endsWith(".html"))) {
    assert.doesNotMatch(text, /<script(?![^>]*src=)|<style|\sstyle=|\son\w+=|https?:/, name);
    assert.match(text, /<html lang=/, name);
  }
});

test("scripts make no markup from data, reach no network and import only what ships", () => {
  for (const { name, text } of sources.filter((one) => one.name.endsWith(".js"))) {
    const code = text.replace(/\/\*[\s\S]*?\*\//g, "");
    assert.doesNotMatch(code, /innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|\bfetch\(|XMLHttpRequest|WebSocket|localStorage|setAttribute\("style/, name);
    for (const [, from] of code.matchAll(/^import .*?from "(.*?)";$/gm)) assert.match(from ?? "", /^\.\.?\/[\w./-]+\.js$/, name);
    assert.doesNotMatch(code, /from ".*test\//, name);
  }
});

test("styles reach nothing elsewhere", () => {
  for (const { name, text } of sources.filter((one) => one.name.endsWith(".css"))) assert.doesNotMatch(text, /url\(|@import/, name);
});
