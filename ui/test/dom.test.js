/** The document follows the description, and what a person is doing in it stays. */

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { JSDOM } from "jsdom";
import { h, render } from "../app/dom.js";

/** @type {any} */
let root;
/** @type {any} */
let document;

beforeEach(() => {
  const { window } = new JSDOM("<body><div id=root></div></body>");
  Object.assign(globalThis, { document: window.document, Node: window.Node });
  document = window.document;
  root = document.getElementById("root");
});

test("data becomes text and attributes, never markup", () => {
  const evil = '<img src=x onerror="alert(1)">';
  render(root, h("p", { title: evil }, evil));
  assert.equal(root.querySelector("img"), null);
  assert.equal(root.textContent, evil);
  assert.equal(root.firstChild.title, evil);
});

test("elements that stay are the same, keep their focus and what is typed in them", () => {
  const view = (/** @type {string[]} */ names) => names.map((name) => h("input", { id: name, value: "" }));
  render(root, view(["a", "b"]));
  const field = document.getElementById("b");
  field.focus();
  field.value = "half a word";
  render(root, [h("p", null, "new"), ...view(["b", "c"])]);
  assert.equal(document.getElementById("b"), field);
  assert.equal(document.activeElement, field);
  assert.equal(field.value, "half a word");
  assert.deepEqual([...root.children].map((one) => one.id || one.tagName), ["P", "b", "c"]);
});

test("children change their order by their keys", () => {
  const view = (/** @type {string} */ keys) => [...keys].map((key) => h("li", { key }, key));
  render(root, view("abcd"));
  const b = root.children[1];
  render(root, view("dxba"));
  assert.equal(root.textContent, "dxba");
  assert.equal(root.children[2], b);
});

test("a tick is as described, whatever was clicked", () => {
  render(root, h("input", { type: "checkbox", id: "t", checked: false }));
  root.firstChild.checked = true;
  render(root, h("input", { type: "checkbox", id: "t", checked: false }));
  assert.equal(root.firstChild.checked, false);
});

test("a select shows its value although its options came with it", () => {
  render(root, h("select", { id: "s", value: "b" }, h("option", { value: "a" }, "A"), h("option", { value: "b" }, "B")));
  assert.equal(root.firstChild.value, "b");
});

test("the newest handler hears, once, and none when it is taken away", () => {
  /** @type {string[]} */
  const heard = [];
  const view = (/** @type {string} */ name) => h("button", { id: "x", on: { click: () => heard.push(name) } });
  render(root, view("first"));
  render(root, view("second"));
  root.firstChild.click();
  render(root, h("button", { id: "x" }));
  root.firstChild.click();
  assert.deepEqual(heard, ["second"]);
});

test("attributes go when they are not described any more", () => {
  render(root, h("p", { id: "p", class: "a", hidden: true, "aria-busy": "true" }));
  render(root, h("p", { id: "p", hidden: false }));
  assert.deepEqual([...root.firstChild.getAttributeNames()], ["id"]);
});

test("nothing, false and nested lists are left away or laid flat", () => {
  render(root, [null, false, undefined, ["a", [1, h("b", null, "c")]]]);
  assert.equal(root.textContent, "a1c");
});
