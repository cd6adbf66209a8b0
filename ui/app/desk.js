/**
 * What the parts of a window share: the newest snapshot, the words, the orders under way and what became of them. An order
 * that fails is told where it was given, so each has a key that its place on the page knows.
 * @import { Snapshot } from "../bridge.js"
 * @import { Bridge } from "./bridge.js"
 * @import { Child } from "./dom.js"
 */

import { sentence } from "./bridge.js";
import { h } from "./dom.js";
import { texts } from "./language.js";

export class Desk {
  /** @type {Set<string>} */
  #busy = new Set();
  /** @type {Map<string, string>} */
  #troubles = new Map();
  /** @type {Map<string, string>} */
  #outcomes = new Map();
  #pending = false;
  #show;

  /** What a screen reader is to say next, politely. */
  said = "";
  /** The question "really?" that is open, by its key. @type {string | null} */
  asking = null;
  /** Where the focus goes after the next showing, by id. @type {string | null} */
  focus = null;

  /**
   * @param {Bridge} bridge
   * @param {Snapshot} snapshot
   * @param {() => void} show brings the window in line
   */
  constructor(bridge, snapshot, show) {
    this.bridge = bridge;
    this.snapshot = snapshot;
    this.t = texts(snapshot.language);
    this.#show = show;
  }

  /** Milliseconds since 1970. */
  get now() {
    return Date.now();
  }

  /** @param {Snapshot} snapshot */
  take(snapshot) {
    if (snapshot.language !== this.t.language) this.t = texts(snapshot.language);
    this.snapshot = snapshot;
    this.refresh();
  }

  /** Shows the window anew, once for all that changes now. */
  refresh() {
    if (this.#pending) return;
    this.#pending = true;
    queueMicrotask(() => {
      this.#pending = false;
      this.#show();
    });
  }

  /**
   * Carries out an order, unless the same is under way.
   * @param {string} key its place on the page
   * @param {() => Promise<string | null | void>} work answers a sentence to show at that place, if there is one to say
   */
  async order(key, work) {
    if (this.#busy.has(key)) return;
    this.#busy.add(key);
    this.forget(key);
    this.refresh();
    try {
      const outcome = await work();
      if (outcome) this.#outcomes.set(key, outcome);
    } catch (error) {
      this.#troubles.set(key, sentence(error));
    } finally {
      this.#busy.delete(key);
      this.refresh();
    }
  }

  /**
   * Stops AI control. Unlike other orders it is given as often as it is asked for: nothing that hangs may hold it up.
   * @param {string} key its place on the page
   */
  async stop(key) {
    this.forget(key);
    try {
      await this.bridge.call("stop");
    } catch (error) {
      this.#troubles.set(key, sentence(error));
    }
    this.refresh();
  }

  /** @param {string} key */
  busy(key) {
    return this.#busy.has(key);
  }

  /** Takes away what was told at a place. @param {string} key */
  forget(key) {
    this.#troubles.delete(key);
    this.#outcomes.delete(key);
  }

  /**
   * What became of the orders of a place.
   * @param {string} key
   * @returns {Child}
   */
  told(key) {
    const [trouble, outcome] = [this.#troubles.get(key), this.#outcomes.get(key)];
    if (trouble !== undefined) return h("p", { class: "told trouble", role: "alert", key: `trouble-${key}`, "data-place": key }, trouble);
    if (outcome !== undefined) return h("p", { class: "told outcome", role: "status", key: `outcome-${key}`, "data-place": key }, outcome);
    return null;
  }

  /** @param {string} text */
  say(text) {
    this.said = text;
    this.refresh();
  }
}
