/**
 * The first three screens: what this is, whether it works here, and a first AI program connected. Each can be skipped.
 * @import { Check } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { icon, sign } from "../icons.js";
import { button, remark } from "../parts.js";
import { Clients, list } from "./connect.js";
import { language } from "./settings.js";

const SCREENS = 3;

/** @returns {import("../main.js").Page} */
export function firstRun() {
  let screen = 1;
  /** @type {Check[] | null} */
  let checks = null;
  const clients = new Clients();
  const examine = (/** @type {Desk} */ desk) =>
    desk.order("examine", async () => {
      checks = await desk.bridge.call("examine");
    });
  const finish = (/** @type {Desk} */ desk) =>
    desk.order("finish", async () => {
      await desk.bridge.call("finish_first_run");
      location.hash = "control";
    });
  /** @param {Desk} desk @param {number} to */
  const go = (desk, to) => {
    screen = to;
    desk.focus = "page-title";
    if (to === 2 && !checks) examine(desk);
    if (to === 3) clients.read(desk);
    desk.refresh();
  };
  return {
    view(desk) {
      const t = desk.t;
      const last = screen === SCREENS;
      const body = screen === 1 ? what(desk) : screen === 2 ? works(desk, checks, () => examine(desk)) : [h("p", { class: "lead" }, t("first.connectLead")), list(desk, clients)];
      return h(
        "div",
        { class: "first", key: `screen-${screen}`, "data-screen": screen },
        h("p", { class: "step" }, t("first.step", { n: screen, of: SCREENS })),
        h("h1", { id: "page-title", tabindex: "-1" }, screen === 1 ? [sign("none"), t("first.welcome")] : t(screen === 2 ? "first.test" : "first.connect")),
        body,
        h(
          "div",
          { class: "buttons ends" },
          screen > 1 ? button(desk, { id: "back", label: t("first.back"), press: () => go(desk, screen - 1) }) : null,
          last ? null : button(desk, { id: "skip", label: t("first.skip"), kind: "quiet", order: "finish", press: () => finish(desk) }),
          last
            ? button(desk, { id: "finish", label: t("first.finish"), kind: "primary", order: "finish", press: () => finish(desk) })
            : button(desk, { id: "next", label: t("first.next"), kind: "primary", press: () => go(desk, screen + 1) }),
        ),
        desk.told("finish"),
      );
    },
  };
}

/** @param {Desk} desk @returns {Child} */
function what(desk) {
  const t = desk.t;
  const point = (/** @type {string} */ picture, /** @type {string} */ title, /** @type {string} */ text) =>
    h("li", null, icon(picture), h("div", { class: "words" }, h("strong", null, title), h("span", { class: "meaning" }, text)));
  return [
    h("p", { class: "lead" }, t("first.what")),
    h(
      "ul",
      { class: "box list points" },
      point("control", t("first.point1"), t("first.point1Meaning")),
      point("stop", t("first.point2", { key: desk.snapshot.settings.stopKey }), t("first.point2Meaning")),
      point("activity", t("first.point3"), t("first.point3Meaning")),
    ),
    language(desk),
  ];
}

/** @param {Desk} desk @param {Check[] | null} checks @param {() => void} again @returns {Child} */
function works(desk, checks, again) {
  const t = desk.t;
  const row = (/** @type {Check} */ check) =>
    h(
      "li",
      { key: check.name, "data-check": check.name, "data-ok": check.ok ? "true" : "false" },
      h("span", { class: `state ${check.ok ? "good" : "bad"}` }, icon(check.ok ? "tick" : "warning"), h("span", { class: "unseen" }, t(check.ok ? "first.works" : "first.fails"))),
      h(
        "div",
        { class: "words" },
        h("strong", null, t.find(`check.${check.name}`) ?? check.name),
        h("span", { class: "meaning" }, check.found),
        check.mend ? [h("span", { class: "meaning" }, t("first.mend")), h("code", { class: "path" }, check.mend)] : null,
      ),
    );
  const fine = checks?.every((check) => check.ok) ?? false;
  return [
    h("p", { class: "lead" }, t("first.testLead")),
    checks ? null : h("p", { class: "hint", role: "status" }, desk.busy("examine") ? t("first.testing") : null),
    checks ? h("p", { role: "status", id: "examined", class: fine ? "told outcome" : null }, fine ? t("first.allWork") : null) : null,
    checks && !fine ? remark("warn", h("p", null, t("first.someFail"))) : null,
    checks ? h("ul", { class: "box list checks" }, checks.map(row)) : null,
    desk.told("examine"),
    h("div", { class: "buttons" }, button(desk, { id: "examine", label: t("first.testAgain"), kind: "quiet", order: "examine", press: again })),
  ];
}
