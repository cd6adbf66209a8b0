/**
 * A gateway: a server through which the person's agents elsewhere reach this computer.
 * @import { GatewayState } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { button, confirmed, field, remark, section, tick } from "../parts.js";
import { moment } from "../time.js";

/** @returns {import("../main.js").Page} */
export function gateway() {
  const draft = { server: "", plain: false };
  return {
    view(desk) {
      const { state } = desk.snapshot.gateway;
      return state === "signed_out" ? signIn(desk, draft) : signedIn(desk, state);
    },
    closed() {
      draft.plain = false;
    },
  };
}

/** Whether what is typed would go over the wire in the open. @param {string} server */
function isPlain(server) {
  return /^\s*(http|ws):\/\//i.test(server);
}

/** @param {Desk} desk @param {{ server: string, plain: boolean }} draft @returns {Child} */
function signIn(desk, draft) {
  const { t, snapshot } = desk;
  const plain = isPlain(draft.server);
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.target);
    const given = new FormData(form);
    const text = (/** @type {string} */ name) => String(given.get(name) ?? "");
    const password = text("password");
    // It is nowhere but in the order.
    /** @type {HTMLInputElement} */ (form.elements.namedItem("password")).value = "";
    desk.order("gateway", () => desk.bridge.call("sign_in", { server: text("server").trim(), user: text("user").trim(), password, acceptPlain: plain && draft.plain }));
  };
  return [
    h(
      "form",
      { class: "box form", id: "sign-in-form", on: { submit }, "aria-label": t("gateway.signIn") },
      field({
        id: "gateway-server",
        label: t("gateway.server"),
        hint: t("gateway.serverHint"),
        props: {
          name: "server",
          type: "text",
          inputmode: "url",
          required: true,
          autocomplete: "url",
          spellcheck: "false",
          placeholder: "https://",
          value: snapshot.gateway.server ?? "",
          on: {
            input: (event) => {
              draft.server = event.target.value;
              desk.refresh();
            },
          },
        },
      }),
      plain
        ? remark(
            "danger",
            h("p", null, t("gateway.plain")),
            tick({
              id: "accept-plain",
              label: t("gateway.acceptPlain"),
              checked: draft.plain,
              change: (on) => {
                draft.plain = on;
                desk.refresh();
              },
            }),
          )
        : null,
      field({ id: "gateway-user", label: t("gateway.user"), props: { name: "user", required: true, autocomplete: "username", spellcheck: "false", value: snapshot.gateway.user ?? "" } }),
      field({ id: "gateway-password", label: t("gateway.password"), hint: t("gateway.passwordHint"), props: { name: "password", type: "password", required: true, autocomplete: "current-password" } }),
      desk.told("gateway"),
      h(
        "div",
        { class: "buttons" },
        h(
          "button",
          { type: "submit", id: "sign-in", class: "button primary", disabled: plain && !draft.plain, "aria-busy": desk.busy("gateway") ? "true" : null },
          h("span", null, t(desk.busy("gateway") ? "gateway.signingIn" : "gateway.signIn")),
        ),
      ),
    ),
    section("why", t("gateway.what"), h("p", { class: "box one" }, t("gateway.whatMeaning"))),
  ];
}

/**
 * @param {Desk} desk
 * @param {Exclude<GatewayState["state"], "signed_out">} name
 * @returns {Child}
 */
function signedIn(desk, name) {
  const { t, snapshot } = desk;
  const state = snapshot.gateway;
  const look = name === "connected" ? "good" : name === "connecting" ? "running" : name === "off" ? "none" : "bad";
  return section(
    "link",
    t("gateway.link"),
    h(
      "div",
      { class: "box one", id: "gateway-state", "data-state": name },
      h("p", { class: `state ${look}` }, h("strong", null, t(`gateway.${name}`))),
      h("p", null, t(`gateway.${name}.meaning`)),
      h(
        "dl",
        null,
        h("dt", null, t("gateway.server")),
        h("dd", { class: "path" }, state.server ?? ""),
        h("dt", null, t("gateway.user")),
        h("dd", null, state.user ?? ""),
        state.since === null ? null : [h("dt", null, t("gateway.since")), h("dd", null, moment(t, state.since, desk.now))],
        state.lastError ? [h("dt", null, t("gateway.lastError")), h("dd", { class: "said" }, state.lastError)] : null,
      ),
      h(
        "div",
        { class: "buttons" },
        name === "connected"
          ? null
          : button(desk, { id: "reconnect", label: t("gateway.reconnect"), kind: "primary", order: "gateway", press: () => desk.order("gateway", () => desk.bridge.call("reconnect_gateway")) }),
        confirmed(desk, { id: "sign-out", label: t("gateway.signOut"), question: t("gateway.signOutReally"), yes: t("gateway.signOut"), work: () => desk.bridge.call("sign_out") }),
      ),
      desk.told("gateway"),
      desk.told("sign-out"),
    ),
  );
}
