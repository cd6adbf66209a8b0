/**
 * A page in a window of its own, with the fake app behind it.
 * @import { Snapshot } from "../bridge.js"
 */

import { readFile } from "node:fs/promises";
import { JSDOM } from "jsdom";
import { install } from "./fake.js";

const interval = setInterval;
let loaded = 0;
/** Ends the window before, also when its test failed. @type {() => void} */
let end = () => {};

/**
 * Loads `app/NAME.html` as a window would.
 * @param {"index" | "consent" | "pill"} name
 * @param {(snapshot: Snapshot, fake: import("./fake.js").Fake) => void} [first] changes the state before the page sees it
 * @param {string} [hash]
 */
export async function load(name, first, hash = "") {
  end();
  const html = await readFile(new URL(`../app/${name}.html`, import.meta.url), "utf8");
  const { window } = new JSDOM(html, { url: `http://localhost/app/${name}.html${hash}`, pretendToBeVisual: true, runScripts: "outside-only" });
  const taken = ["document", "location", "Node", "FormData", "HTMLElement"];
  for (const one of taken) Object.defineProperty(globalThis, one, { configurable: true, writable: true, value: /** @type {any} */ (window)[one] });
  Object.assign(globalThis, { window, addEventListener: window.addEventListener.bind(window) });
  // What a window does each second ends with it.
  /** @type {NodeJS.Timeout[]} */
  const beats = [];
  Object.assign(globalThis, { setInterval: (/** @type {() => void} */ work, /** @type {number} */ time) => beats.push(interval(work, time).unref()) });
  end = () => {
    beats.forEach(clearInterval);
    window.close();
  };
  const fake = install(window, first);
  const script = name === "index" ? "main" : name;
  const ready = import(`../app/${script}.js?window=${++loaded}`);
  if (!fake.refusals.has("snapshot")) await ready;
  await settled();
  const page = {
    window,
    document: window.document,
    fake,
    /** The element of an id; its absence is a failure. @param {string} id @returns {any} */
    get(id) {
      const found = window.document.getElementById(id);
      if (!found) throw new Error(`there is no #${id}`);
      return found;
    },
    /** @param {string} id */
    has: (id) => window.document.getElementById(id) !== null,
    /** @param {string} id @returns {string} */
    text: (id) => page.get(id).textContent,
    /** Presses a button, a link or a tick. @param {string} id */
    async press(id) {
      page.get(id).click();
      await settled();
    },
    /** Types into a field and leaves it. @param {string} id @param {string} value */
    async fill(id, value) {
      const field = page.get(id);
      field.value = value;
      field.dispatchEvent(new window.Event("input", { bubbles: true }));
      field.dispatchEvent(new window.Event("change", { bubbles: true }));
      await settled();
    },
    /** Orders of a name, or all. @param {string} [of] */
    orders: (of) => fake.orders.filter(([order]) => !of || order === of),
    /** Waits until it holds. @param {() => unknown} holds */
    async until(holds) {
      const end = Date.now() + 60_000;
      while (!holds()) {
        if (Date.now() > end) throw new Error(`it did not come to pass: ${holds}`);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    close: () => end(),
  };
  return page;
}

/** Lets everything that is ready happen. */
async function settled() {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve));
}
