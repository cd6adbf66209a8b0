/**
 * One question to the person: who asks, which program it is, for what. Nothing is chosen beforehand, Escape does nothing, and
 * for a moment after a question has appeared its buttons are dead, so that a key or click meant for something else cannot allow.
 * @import { Question, Snapshot } from "../bridge.js"
 * @import { Child } from "./dom.js"
 */

import { connect } from "./bridge.js";
import { Desk } from "./desk.js";
import { h } from "./dom.js";
import { Grant } from "./grant.js";
import { icon, sign } from "./icons.js";
import { groupMeaning, groupName, toolName } from "./names.js";
import { button } from "./parts.js";
import { laidOut, visible } from "./shown.js";
import { left } from "./time.js";
import { keepInLine } from "./window.js";

/** How long the buttons are dead, in milliseconds. */
const DEAD = 600;

/** The question that is shown, and what is chosen for it. @type {{ id: number, grant: Grant, alive: boolean } | null} */
let open = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waking;

const bridge = connect();
const { desk } = await keepInLine(bridge, view, { changed });
document.addEventListener("visibilitychange", () => document.hidden || sleep(desk));
// A key that is held down repeats; only a fresh press may answer.
addEventListener("keydown", (event) => event.repeat && (event.key === "Enter" || event.key === " ") && event.preventDefault(), true);

/** @param {Desk} desk */
function changed(desk) {
  const { question } = desk.snapshot;
  if (question?.id === open?.id) return;
  clearTimeout(waking);
  open = question ? { id: question.id, grant: grantFor(desk.snapshot, question), alive: false } : null;
  desk.forget("answer");
  if (!question) return;
  desk.focus = "page-title";
  sleep(desk);
}

/** Makes the buttons dead for a moment. @param {Desk} desk */
function sleep(desk) {
  const now = open;
  if (!now) return;
  now.alive = false;
  clearTimeout(waking);
  waking = setTimeout(() => {
    now.alive = true;
    desk.refresh();
  }, DEAD);
  desk.refresh();
}

/** Only what this call needs is ticked, and only for who asks. @param {Snapshot} snapshot @param {Question} question */
function grantFor(snapshot, question) {
  const needed = neededGroups(snapshot, question);
  const grant = new Grant((group) => needed.includes(group.name));
  grant.everybody = !snapshot.callers.some((caller) => caller.id === question.caller);
  grant.callers.add(question.caller);
  return grant;
}

/** @param {Snapshot} snapshot @param {Question} question @returns {string[]} */
function neededGroups(snapshot, question) {
  const of = snapshot.groups.filter((group) => group.tools.some((tool) => tool.name === question.tool)).map((group) => group.name);
  return question.group ? [question.group, ...of] : of;
}

/** The name of a group as part of a sentence. @param {string} name */
function inSentence(name) {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** @param {Desk} desk @returns {Child} */
function view(desk) {
  const { t, snapshot } = desk;
  const { question } = snapshot;
  document.title = t("ask.title");
  if (!question || !open) return h("main", { class: "alone" }, h("h1", { id: "page-title", tabindex: "-1", class: "hint" }, t("ask.none")));
  const group = snapshot.groups.find((one) => one.name === question.group);
  return h(
    "main",
    { class: "ask", key: `question-${question.id}`, "data-kind": question.kind, "data-question": question.id },
    h(
      "div",
      { class: "ask-body" },
      h("p", { class: "ask-brand" }, sign("paused"), t("ask.title")),
      h(
        "h1",
        { id: "page-title", tabindex: "-1" },
        question.kind === "authorize" ? t("ask.authorize") : t("ask.group", { name: visible(question.callerName), group: inSentence(groupName(t, question.group ?? "")) }),
      ),
      group && question.kind === "group" ? h("p", { class: "lead" }, groupMeaning(t, group)) : h("p", { class: "lead" }, t("ask.authorizeMeaning", { name: visible(question.callerName) })),
      who(desk, question),
      question.kind === "authorize" ? [open.grant.duration(desk), open.grant.groups(desk), allGroups(desk, open.grant), open.grant.whom(desk)] : null,
    ),
    answers(desk, question, open.grant),
  );
}

/** @param {Desk} desk @param {Grant} grant @returns {Child} */
function allGroups(desk, grant) {
  const all = () => {
    for (const group of desk.snapshot.groups) grant.set(group.name, true);
    desk.refresh();
  };
  return h("div", { class: "buttons" }, button(desk, { id: "groups-all", label: desk.t("ask.all"), kind: "quiet", press: all }));
}

/** Who asks and for what. @param {Desk} desk @param {Question} question @returns {Child} */
function who(desk, question) {
  const t = desk.t;
  return h(
    "dl",
    { class: "box who" },
    h("dt", null, t("ask.who")),
    h("dd", { id: "ask-caller" }, h("strong", null, visible(question.callerName))),
    h("dt", null, t("ask.program")),
    h("dd", { id: "ask-program", class: "path" }, question.program ? visible(question.program) : h("span", { class: "hint" }, t("ask.programUnknown"))),
    h("dt", null, t("ask.what")),
    h(
      "dd",
      { id: "ask-tool" },
      toolName(t, question.tool),
      " ",
      h("code", null, visible(question.tool)),
      // A tool of another server has no words of ours.
      t.find(`tool.${question.tool}`) ? null : h("span", { class: "meaning" }, visible(question.toolSummary)),
    ),
    question.arguments === "" || question.arguments === "{}"
      ? null
      : [
          h("dt", null, t("ask.arguments")),
          h("dd", null, h("pre", { id: "ask-arguments", tabindex: "0", "aria-label": t("ask.arguments") }, laidOut(question.arguments))),
        ],
  );
}

/** @param {Desk} desk @param {Question} question @param {Grant} grant @returns {Child} */
function answers(desk, question, grant) {
  const { t, snapshot } = desk;
  const alive = open?.alive === true && !desk.busy("answer");
  const give = (/** @type {"once" | "session" | "always" | "refuse" | "authorize"} */ answer) => () => {
    if (!open?.alive) return;
    desk.order("answer", () => desk.bridge.call("answer", { id: question.id, answer, grant: answer === "authorize" ? grant.order(snapshot) : null }));
  };
  const one = (/** @type {string} */ id, /** @type {string} */ label, /** @type {Parameters<typeof give>[0]} */ answer, /** @type {"primary" | "plain"} */ kind, off = false) =>
    button(desk, { id, label, kind, off, press: give(answer), more: { "aria-disabled": alive ? null : "true" } });
  return h(
    "div",
    { class: "ask-end" },
    desk.told("answer"),
    question.kind === "authorize"
      ? h("div", { class: "buttons" }, one("refuse", t("ask.refuse"), "refuse", "plain"), one("authorize", t("ask.authorizeButton"), "authorize", "primary", grant.empty(snapshot)))
      : h(
          "div",
          { class: "buttons answers" },
          one("refuse", t("ask.refuse"), "refuse", "plain"),
          one("allow-once", t("ask.once"), "once", "plain"),
          one("allow-session", t("ask.session"), "session", "plain"),
          one("allow-always", t("ask.always"), "always", "plain"),
        ),
    h(
      "p",
      { class: "hint" },
      h("span", { id: "ask-left", role: "timer" }, t("ask.left", { time: left(question.expires - desk.now) })),
      question.waiting > 0 ? [" · ", h("span", { id: "ask-waiting" }, t("ask.waiting", { n: question.waiting }))] : null,
    ),
    question.kind === "group" ? h("details", { id: "ask-help" }, h("summary", null, icon("more"), t("ask.help")), h("p", { class: "hint" }, t("ask.helpText"))) : null,
  );
}
