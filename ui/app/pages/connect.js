/**
 * The AI programs on this computer. Nothing is changed in their files before the person has seen exactly what.
 * @import { ClientPlan, ClientStatus } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child, Description } from "../dom.js"
 */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { button, remark, section } from "../parts.js";

/** @typedef {"install" | "uninstall"} Action */

export class Clients {
  /** @type {ClientStatus[] | null} */
  all = null;
  /** The change that is shown before it is made. @type {{ client: string, action: Action, plan: ClientPlan } | null} */
  shown = null;

  /** @param {Desk} desk */
  async read(desk) {
    await desk.order("clients", async () => {
      this.all = await desk.bridge.call("clients");
    });
  }

  /** @param {Desk} desk @param {string} client @param {Action} action */
  plan(desk, client, action) {
    this.shown = null;
    desk.order(`client-${client}`, async () => {
      const plan = await desk.bridge.call("client_plan", { client, action });
      if (plan.done) {
        await this.read(desk);
        return plan.notes.join(" ") || desk.t("connect.nothingToDo");
      }
      this.shown = { client, action, plan };
      desk.focus = `plan-${client}`;
      return null;
    });
  }

  /** @param {Desk} desk */
  cancel(desk) {
    if (this.shown) desk.focus = `${this.shown.action === "install" ? "connect" : "disconnect"}-${this.shown.client}`;
    this.shown = null;
    desk.refresh();
  }

  /** @param {Desk} desk */
  apply(desk) {
    const shown = this.shown;
    if (!shown) return;
    desk.order(`client-${shown.client}`, async () => {
      const next = await desk.bridge.call("client_apply", { plan: shown.plan.id });
      this.shown = null;
      desk.focus = `client-${shown.client}`;
      await this.read(desk);
      const own = shown.action === "install" ? desk.t.find(`next.${shown.client}`) : null;
      return own ? desk.t("sentences", { first: desk.t("connect.done"), second: own }) : next;
    });
  }
}

/** @returns {import("../main.js").Page} */
export function connect() {
  const clients = new Clients();
  return {
    opened: (desk) => void clients.read(desk),
    closed() {
      clients.shown = null;
    },
    view: (desk) => [list(desk, clients), byHand(desk)],
  };
}

/** The clients found here, then the others. @param {Desk} desk @param {Clients} clients @returns {Child} */
export function list(desk, clients) {
  const t = desk.t;
  const told = desk.told("clients");
  if (!clients.all) return [told, told ? again(desk, clients) : h("p", { class: "hint", role: "status" }, t("connect.looking"))];
  const here = (/** @type {ClientStatus} */ one) => one.found || one.state !== "not_connected";
  const found = clients.all.filter(here);
  const others = clients.all.filter((one) => !here(one));
  return [
    told,
    section(
      "found",
      t("connect.found"),
      found.length ? h("ul", { class: "box list clients" }, found.map((one) => client(desk, clients, one))) : h("p", { class: "box empty" }, t("connect.noneFound")),
      h("div", { class: "buttons" }, again(desk, clients)),
    ),
    others.length
      ? h(
          "details",
          { id: "others" },
          h("summary", null, icon("more"), t("connect.others", { n: others.length })),
          h("ul", { class: "box list clients" }, others.map((one) => client(desk, clients, one))),
        )
      : null,
  ];
}

/** @param {Desk} desk @param {Clients} clients @returns {Description} */
function again(desk, clients) {
  return button(desk, { id: "look-again", label: desk.t("connect.lookAgain"), order: "clients", kind: "quiet", press: () => void clients.read(desk) });
}

/** @param {Desk} desk @param {Clients} clients @param {ClientStatus} one @returns {Child} */
function client(desk, clients, one) {
  const t = desk.t;
  const shown = clients.shown?.client === one.name ? clients.shown : null;
  const state = one.state === "connected" ? "good" : one.state === "not_connected" ? "none" : "bad";
  const order = `client-${one.name}`;
  const connectLabel = t(one.state === "not_connected" ? "connect.connect" : "connect.repair");
  return h(
    "li",
    { key: one.name, id: order, class: "client", tabindex: "-1", "data-state": one.state },
    h(
      "div",
      { class: "line" },
      h(
        "div",
        { class: "words" },
        h("strong", null, one.title),
        h("span", { class: `state ${state}` }, state === "good" ? icon("tick") : state === "bad" ? icon("warning") : null, t(`client.${one.state}`)),
        one.detail ? h("span", { class: "meaning detail" }, t(one.state === "differs" ? "connect.starts" : "connect.because", { detail: one.detail })) : null,
        one.state === "unreadable" ? h("span", { class: "meaning path" }, one.files.join(t("list.separator"))) : null,
      ),
      h(
        "div",
        { class: "buttons" },
        one.state === "connected" || one.state === "unreadable"
          ? null
          : button(desk, {
              id: `connect-${one.name}`,
              label: connectLabel,
              kind: one.found ? "primary" : "plain",
              order,
              press: () => clients.plan(desk, one.name, "install"),
              more: { "aria-label": `${connectLabel}: ${one.title}` },
            }),
        one.state === "not_connected" || one.state === "unreadable"
          ? null
          : button(desk, {
              id: `disconnect-${one.name}`,
              label: t("connect.disconnect"),
              order,
              press: () => clients.plan(desk, one.name, "uninstall"),
              more: { "aria-label": `${t("connect.disconnect")}: ${one.title}` },
            }),
      ),
    ),
    shown ? change(desk, clients, shown) : null,
    desk.told(order),
  );
}

/**
 * Exactly what would change.
 * @param {Desk} desk
 * @param {Clients} clients
 * @param {{ client: string, action: Action, plan: ClientPlan }} shown
 * @returns {Child}
 */
function change(desk, clients, { client: name, action, plan }) {
  const t = desk.t;
  const file = (/** @type {ClientPlan["files"][number]} */ one) =>
    h(
      "figure",
      { key: one.path },
      h("figcaption", null, t(one.creates ? "connect.creates" : "connect.edits"), " ", h("span", { class: "path" }, one.path)),
      h("pre", { class: "diff", tabindex: "0", "aria-label": t("connect.diff", { path: one.path }) }, one.diff.split("\n").map(line)),
    );
  return h(
    "div",
    { class: "plan", id: `plan-${name}`, tabindex: "-1", role: "group", "aria-label": t("connect.planTitle") },
    h("p", { class: "plan-title" }, t(action === "install" ? "connect.planInstall" : "connect.planUninstall")),
    plan.files.map(file),
    plan.notes.length ? h("ul", { class: "notes" }, plan.notes.map((note) => h("li", null, note))) : null,
    h(
      "div",
      { class: "buttons" },
      button(desk, { id: `apply-${name}`, label: t("connect.apply"), kind: "primary", order: `client-${name}`, press: () => clients.apply(desk) }),
      button(desk, { id: `cancel-${name}`, label: t("connect.cancel"), press: () => clients.cancel(desk) }),
    ),
  );
}

/** A line of a diff: the sign says what the colour says. @param {string} text @returns {Child} */
function line(text) {
  const kind = text.startsWith("+++") || text.startsWith("---") || text.startsWith("@@") ? "about" : text.startsWith("+") ? "plus" : text.startsWith("-") ? "minus" : "same";
  return h("span", { class: kind }, `${text}\n`);
}

/** For a program that is not in the list. @param {Desk} desk @returns {Child} */
function byHand(desk) {
  const t = desk.t;
  const entry = JSON.stringify({ mcpServers: { deskhand: { command: "deskhand", args: ["mcp", "start"] } } }, null, 2);
  return h(
    "details",
    { id: "by-hand" },
    h("summary", null, icon("more"), t("connect.byHand")),
    h("div", { class: "box one" }, h("p", null, t("connect.byHandMeaning")), h("pre", { tabindex: "0", "aria-label": t("connect.byHand") }, entry), remark("info", h("p", null, t("connect.byHandNote")))),
  );
}
