/**
 * The main window: pages beside each other, one shown. Which one is in the address, so going back works.
 * @import { ActivityEntry, Events } from "../bridge.js"
 * @import { Child } from "./dom.js"
 */

import { connect as bridgeOf } from "./bridge.js";
import { Desk } from "./desk.js";
import { h } from "./dom.js";
import { icon, sign } from "./icons.js";
import { acting, control } from "./pages/control.js";
import { activity } from "./pages/activity.js";
import { browser } from "./pages/browser.js";
import { connect } from "./pages/connect.js";
import { firstRun } from "./pages/first-run.js";
import { gateway } from "./pages/gateway.js";
import { permissions } from "./pages/permissions.js";
import { settings } from "./pages/settings.js";
import { button, remark } from "./parts.js";
import { left } from "./time.js";
import { keepInLine } from "./window.js";

/**
 * @typedef {object} Page
 * @property {(desk: Desk) => Child} view what it shows now
 * @property {(desk: Desk) => void} [opened] it comes to be shown
 * @property {() => void} [closed] it is not shown any more
 * @property {(desk: Desk, entry: ActivityEntry) => void} [happened] a call began or ended
 */

/** @typedef {Events["page"]} PageName */

/** In the order of the navigation. */
const names = /** @type {const} */ (["control", "permissions", "activity", "connect", "browser", "gateway", "settings"]);

/** @type {{ [name in PageName]: Page }} */
const pages = {
  control: control(),
  permissions: permissions(),
  activity: activity(),
  connect: connect(),
  browser: browser(),
  gateway: gateway(),
  settings: settings(),
  "first-run": firstRun(),
};

/** The page that is shown. @type {PageName | null} */
let current = null;

const bridge = bridgeOf();
const { desk } = await keepInLine(bridge, view);

addEventListener("hashchange", () => open(due()));
await bridge.on("page", (name) => {
  location.hash = name;
  open(due());
});
await bridge.on("activity", (entry) => {
  if (current) pages[current].happened?.(desk, entry);
});
open(due());

/** The first screens until they are done, else what the address asks for. @returns {PageName} */
function due() {
  return desk.snapshot.firstRun ? "first-run" : asked();
}

/** What the address asks for. @returns {PageName} */
function asked() {
  const name = location.hash.slice(1);
  return Object.hasOwn(pages, name) ? /** @type {PageName} */ (name) : "control";
}

/** @param {PageName} name */
function open(name) {
  if (name === current) return;
  const before = current;
  if (current) pages[current].closed?.();
  current = name;
  desk.asking = null;
  if (before) desk.focus = "page-title";
  document.documentElement.scrollTop = 0;
  document.getElementById(`nav-${name}`)?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  pages[name].opened?.(desk);
  desk.refresh();
}

/** @param {Desk} desk @returns {Child} */
function view(desk) {
  const { t, snapshot } = desk;
  if (current === null) return null;
  // The first screens begin and end when the app says so.
  if (due() !== current) queueMicrotask(() => open(due()));
  document.title = `Deskhand · ${t(snapshot.problem ? "state.problem" : `state.${snapshot.control.state}`)}`;
  if (current === "first-run") return h("main", { class: "alone" }, pages["first-run"].view(desk));
  return h(
    "div",
    { class: "window" },
    side(desk, current),
    h(
      "main",
      { key: current, id: `page-${current}`, "aria-labelledby": "page-title" },
      snapshot.problem ? h("div", { id: "problem", role: "alert" }, remark("danger", h("p", null, h("strong", null, t("state.problem"))), h("p", null, snapshot.problem))) : null,
      current === "control" ? null : strip(desk),
      h("header", { class: "head" }, h("h1", { id: "page-title", tabindex: "-1" }, t(`page.${current}`)), h("p", { class: "lead" }, t(`lead.${current}`))),
      pages[current].view(desk),
    ),
  );
}

/** @param {Desk} desk @param {PageName} current @returns {Child} */
function side(desk, current) {
  const { t, snapshot } = desk;
  const state = snapshot.problem ? "problem" : snapshot.control.state;
  const link = (/** @type {typeof names[number]} */ name) =>
    h(
      "li",
      { key: name },
      h("a", { id: `nav-${name}`, href: `#${name}`, "aria-current": name === current ? "page" : null }, icon(name), h("span", null, t(`page.${name}`))),
    );
  return h(
    "div",
    { class: "side" },
    h("header", { class: "brand" }, sign(state), h("div", null, h("strong", null, "Deskhand"), h("span", { class: "brand-state", "data-state": state }, t(`short.${state}`)))),
    h("nav", { "aria-label": t("nav.label") }, h("ul", null, names.map(link))),
    // Without a tray this window is the only place to leave from.
    snapshot.tray ? null : h("div", { class: "leave" }, button(desk, { id: "quit-here", label: t("settings.quit"), kind: "quiet", press: () => desk.order("quit", () => desk.bridge.call("quit")) }), h("p", { class: "hint" }, t("settings.noTray")), desk.told("quit")),
  );
}

/** AI control while another page is shown: what it does, and Stop. @param {Desk} desk @returns {Child} */
function strip(desk) {
  const { t, snapshot } = desk;
  const { control } = snapshot;
  if (control.state === "off") return null;
  return h(
    "section",
    { class: "strip", "data-state": control.state, "aria-label": t(`state.${control.state}`) },
    h(
      "a",
      { class: "words", href: "#control" },
      h("strong", null, t(`state.${control.state}`)),
      control.until === null ? null : h("span", { class: "time" }, left(control.until - desk.now)),
      snapshot.acting && control.state === "authorised" ? h("span", { class: "acting" }, acting(desk)) : null,
    ),
    button(desk, { id: "stop", label: t("control.stop"), icon: "stop", kind: "danger", press: () => desk.stop("stop") }),
    desk.told("stop"),
  );
}
