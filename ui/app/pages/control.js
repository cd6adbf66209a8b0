/**
 * The one switch, and while it is on: what is happening, how long it still lasts, and the ways to end it.
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { Grant } from "../grant.js";
import { forWhom, groupMeaning, groupName, reason, toolName } from "../names.js";
import { button, remark, section } from "../parts.js";
import { visible } from "../shown.js";
import { clock, left } from "../time.js";

/** @returns {import("../main.js").Page} */
export function control() {
  const grant = new Grant((group) => group.enabled);
  return {
    view(desk) {
      const { control } = desk.snapshot;
      return [panel(desk, grant), control.state === "off" ? offer(desk, grant) : granted(desk)];
    },
  };
}

/** @param {Desk} desk @param {Grant} grant @returns {Child} */
function panel(desk, grant) {
  const { t, snapshot } = desk;
  const { control } = snapshot;
  const off = control.state === "off";
  const empty = grant.empty(snapshot);
  const turn = () =>
    off ? desk.order("control", () => desk.bridge.call("authorize", grant.order(snapshot))) : desk.stop("stop");
  return h(
    "section",
    { class: "panel", "data-state": control.state, "aria-labelledby": "state" },
    h(
      "div",
      { class: "switch-row" },
      h("div", { class: "words" }, h("h2", { id: "state" }, t(`state.${control.state}`)), h("p", { id: "meaning" }, meaning(desk))),
      h(
        "button",
        {
          id: "authorize",
          type: "button",
          role: "switch",
          class: "big-switch",
          "aria-checked": off ? "false" : "true",
          "aria-busy": desk.busy("control") ? "true" : null,
          disabled: (off && empty) || snapshot.problem !== null,
          on: { click: turn },
        },
        h("span", null, t("control.authorize")),
        h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "knob" })),
      ),
    ),
    off ? h("div", { class: "before" }, grant.duration(desk)) : running(desk),
    off && empty ? h("p", { class: "hint" }, t("control.chooseSome")) : null,
    desk.told("control"),
    desk.told("stop"),
  );
}

/** @param {Desk} desk @returns {string} */
function meaning(desk) {
  const { t, snapshot } = desk;
  const why = reason(t, snapshot.control);
  if (snapshot.control.state === "authorised") return t("control.onMeaning");
  const base = t(snapshot.control.state === "off" ? "control.offMeaning" : "control.pausedMeaning");
  return why ? t("sentences", { first: why, second: base }) : base;
}

/** What stands in the panel while control is on or paused. @param {Desk} desk @returns {Child} */
function running(desk) {
  const { t, snapshot } = desk;
  const { control } = snapshot;
  const paused = control.state === "paused";
  const order = (/** @type {"pause" | "resume"} */ name) => () => desk.order("control", () => desk.bridge.call(name));
  const extend = (/** @type {number} */ minutes) => () => desk.order("control", () => desk.bridge.call("extend", { minutes }));
  return [
    h(
      "div",
      { class: "clock" },
      control.until === null
        ? h("p", { class: "time words-only", id: "time-left" }, t("control.untilStopped"))
        : [
            h(
              "div",
              { class: "left" },
              h("p", { class: "time", id: "time-left", role: "timer" }, left(control.until - desk.now)),
              h("p", { class: "until" }, t("control.until", { time: clock(t, control.until) })),
            ),
          ],
      paused || control.until === null
        ? null
        : h(
            "div",
            { class: "extend" },
            button(desk, { id: "extend", label: t("control.extend15"), press: extend(15) }),
            button(desk, { id: "extend-60", label: t("control.extend60"), press: extend(60) }),
          ),
    ),
    h("p", { class: "acting", id: "acting" }, acting(desk)),
    h(
      "div",
      { class: "ways" },
      paused
        ? button(desk, { id: "resume", label: t("control.resume"), icon: "resume", kind: "primary", order: "control", press: order("resume") })
        : button(desk, { id: "pause", label: t("control.pause"), icon: "pause", order: "control", press: order("pause") }),
      button(desk, { id: "stop", label: t("control.stop"), icon: "stop", kind: "danger", press: () => desk.stop("stop") }),
    ),
    h("p", { class: "key" }, t("control.stopKey", { key: snapshot.settings.stopKey }), " ", snapshot.settings.takeover ? t("control.takeover") : null),
  ];
}

/** @param {Desk} desk @returns {Child} */
export function acting(desk) {
  const { t, snapshot } = desk;
  if (snapshot.control.state === "paused") return null;
  if (!snapshot.acting) return t("control.idle");
  return [
    h("span", { class: "pulse", "aria-hidden": "true" }),
    h("strong", null, visible(snapshot.acting.callerName)),
    h("span", null, t("control.doing", { tool: toolName(t, snapshot.acting.tool) })),
  ];
}

/** What can be chosen while control is off. @param {Desk} desk @param {Grant} grant @returns {Child} */
function offer(desk, grant) {
  const { t, snapshot } = desk;
  const clients = snapshot.callers.some((caller) => caller.kind !== "main");
  return [
    clients ? null : remark("info", h("p", null, t("control.noClient"), " ", h("a", { href: "#connect" }, t("control.connectOne")))),
    grant.groups(desk),
    grant.whom(desk),
  ];
}

/** What is allowed while control is on. @param {Desk} desk @returns {Child} */
function granted(desk) {
  const { t, snapshot } = desk;
  const groups = snapshot.groups.filter((group) => snapshot.control.groups.includes(group.name));
  return [
    section(
      "what",
      t("control.allowed"),
      h(
        "ul",
        { class: "box list" },
        groups.map((group) =>
          h("li", { key: group.name }, h("strong", null, groupName(t, group.name)), h("span", { class: "meaning" }, groupMeaning(t, group))),
        ),
      ),
    ),
    section("whom", t("control.allowedFor"), h("p", { class: "box one" }, forWhom(t, snapshot.control.callers, snapshot.callers))),
  ];
}
