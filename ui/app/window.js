/**
 * What every window does: it follows the app's state, shows itself anew after each change and each second, keeps the focus
 * where the person can find it, and tells a screen reader when AI control begins, pauses and ends.
 * @import { Snapshot } from "../bridge.js"
 * @import { Bridge } from "./bridge.js"
 * @import { Child } from "./dom.js"
 */

import { sentence } from "./bridge.js";
import { Desk } from "./desk.js";
import { h, render } from "./dom.js";

/** Whether something is shown that changes with the time. @param {Snapshot} snapshot */
function runsDown(snapshot) {
  return snapshot.control.until !== null || snapshot.question !== null || snapshot.browser.pairing !== null;
}

/**
 * @param {Bridge} bridge
 * @param {(desk: Desk) => Child} view
 * @param {{ changed?: (desk: Desk) => void }} [more] `changed` is told after each new snapshot, before it is shown
 * @returns {Promise<{ desk: Desk, close: () => void }>}
 */
export async function keepInLine(bridge, view, more = {}) {
  const root = /** @type {HTMLElement} */ (document.getElementById("app"));
  /** @type {Desk | null} */
  let desk = null;
  /** @type {Snapshot | null} */
  let early = null;
  /** @type {(snapshot: Snapshot) => void} */
  let arrived = () => {};
  /** @type {Promise<Snapshot>} */
  const told = new Promise((resolve) => (arrived = resolve));
  // Listening begins first: what changes while the first snapshot is on its way is newer than that.
  const deaf = await bridge.on("snapshot", (snapshot) => {
    if (desk) return take(desk, snapshot);
    early = snapshot;
    arrived(snapshot);
  });
  const first = await bridge.call("snapshot").catch((error) => {
    // Better a sentence than an empty window; the next change may bring it to life.
    render(root, h("main", { class: "alone" }, h("p", { class: "told trouble", role: "alert" }, sentence(error))));
    return told;
  });
  desk = new Desk(bridge, early ?? first, () => show(/** @type {Desk} */ (desk)));
  more.changed?.(desk);
  desk.refresh();
  const beat = setInterval(() => !document.hidden && desk && runsDown(desk.snapshot) && desk.refresh(), 1000);
  const seen = () => document.hidden || desk?.refresh();
  document.addEventListener("visibilitychange", seen);

  /** @param {Desk} desk @param {Snapshot} snapshot */
  function take(desk, snapshot) {
    const before = desk.snapshot.control.state;
    desk.take(snapshot);
    if (snapshot.control.state !== before) desk.said = desk.t(`state.${snapshot.control.state}`);
    more.changed?.(desk);
  }

  /** @param {Desk} desk */
  function show(desk) {
    document.documentElement.lang = desk.t.language;
    const had = document.activeElement !== null && document.activeElement !== document.body;
    render(root, [view(desk), h("p", { id: "live", class: "unseen", role: "status", "aria-live": "polite" }, desk.said)]);
    const lost = had && (document.activeElement === null || document.activeElement === document.body);
    const wanted = desk.focus ?? (lost ? "page-title" : null);
    desk.focus = null;
    if (wanted) document.getElementById(wanted)?.focus();
  }

  const close = () => {
    deaf();
    clearInterval(beat);
    document.removeEventListener("visibilitychange", seen);
  };
  return { desk, close };
}
