/**
 * The person's own browser: how the extension gets there, the code that pairs it, and the browsers that are paired.
 * @import { BrowserState } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { button, confirmed, field, section } from "../parts.js";
import { left } from "../time.js";

/** @returns {import("../main.js").Page} */
export function browser() {
  /** The browser whose name is being changed. @type {string | null} */
  let renaming = null;
  const rename = (/** @type {Desk} */ desk, /** @type {string | null} */ id) => {
    desk.focus = id === null ? `rename-${renaming}` : `name-${id}`;
    renaming = id;
    desk.refresh();
  };
  return {
    view: (desk) => [paired(desk, renaming, rename), steps(desk)],
    closed() {
      renaming = null;
    },
  };
}

/** How to put the extension in and pair it. @param {Desk} desk @returns {Child} */
function steps(desk) {
  const { t, snapshot } = desk;
  const folder = snapshot.browser.extensionFolder;
  return section(
    "pair",
    t("browser.add"),
    h("p", { class: "hint" }, t("browser.addHint")),
    h(
      "ol",
      { class: "box steps" },
      h(
        "li",
        { key: "open" },
        h("p", null, t("browser.step1")),
        button(desk, { id: "open-extension-page", label: t("browser.openPage"), order: "extension-page", press: () => desk.order("extension-page", () => desk.bridge.call("open_extension_page")) }),
        h("p", { class: "hint" }, t("browser.step1Hint")),
        desk.told("extension-page"),
      ),
      h("li", { key: "developer" }, h("p", null, t("browser.step2"))),
      h(
        "li",
        { key: "load" },
        h("p", null, t("browser.step3")),
        folder ? h("p", null, h("code", { class: "path chosen", id: "extension-folder" }, folder)) : h("p", { class: "hint" }, t("browser.noFolder")),
      ),
      h("li", { key: "pair" }, h("p", null, t("browser.step4")), pairing(desk)),
    ),
  );
}

/** @param {Desk} desk @returns {Child} */
function pairing(desk) {
  const { t, snapshot } = desk;
  const now = snapshot.browser.pairing;
  const start = (/** @type {string} */ label) =>
    button(desk, { id: "start-pairing", label, kind: "primary", order: "pairing", press: () => desk.order("pairing", () => desk.bridge.call("start_pairing")) });
  if (!now || now.expires <= desk.now) return [now ? h("p", { class: "hint" }, t("browser.codeOver")) : null, start(t(now ? "browser.newCode" : "browser.showCode")), desk.told("pairing")];
  return [
    h(
      "div",
      { class: "code", role: "group", "aria-label": t("browser.code") },
      h("dl", null, h("dt", null, t("browser.code")), h("dd", { id: "pairing-code", class: "big" }, now.code), h("dt", null, t("browser.address")), h("dd", { id: "pairing-address" }, now.address)),
      h("p", { class: "hint", id: "pairing-left", role: "timer" }, t("browser.codeLeft", { time: left(now.expires - desk.now) })),
      button(desk, { id: "stop-pairing", label: t("browser.stopPairing"), order: "pairing", press: () => desk.order("pairing", () => desk.bridge.call("stop_pairing")) }),
    ),
    desk.told("pairing"),
  ];
}

/**
 * @param {Desk} desk
 * @param {string | null} renaming
 * @param {(desk: Desk, id: string | null) => void} rename
 * @returns {Child}
 */
function paired(desk, renaming, rename) {
  const { t, snapshot } = desk;
  const browsers = snapshot.browser.paired;
  if (browsers.length === 0) return null;
  const row = (/** @type {BrowserState["paired"][number]} */ one) => {
    const order = `browser-${one.id}`;
    const prefer = () => desk.order(order, () => desk.bridge.call("prefer_browser", { id: one.preferred ? null : one.id }));
    return h(
      "li",
      { key: one.id, class: "client" },
      h(
        "div",
        { class: "line" },
        h(
          "div",
          { class: "words" },
          h("strong", null, one.name),
          h("span", { class: `state ${one.connected ? "good" : "none"}` }, t(one.connected ? "browser.connected" : "browser.away")),
          one.preferred ? h("span", { class: "meaning" }, t("browser.isPreferred")) : null,
        ),
        h(
          "div",
          { class: "buttons" },
          renaming === one.id ? null : button(desk, { id: `rename-${one.id}`, label: t("browser.rename"), kind: "quiet", press: () => rename(desk, one.id) }),
          browsers.length > 1 || one.preferred ? button(desk, { id: `prefer-${one.id}`, label: t(one.preferred ? "browser.preferNone" : "browser.prefer"), kind: "quiet", order, press: prefer }) : null,
          confirmed(desk, {
            id: `revoke-${one.id}`,
            label: t("browser.revoke"),
            question: t("browser.revokeReally", { name: one.name }),
            yes: t("browser.revoke"),
            kind: "quiet",
            work: () => desk.bridge.call("revoke_browser", { id: one.id }),
          }),
        ),
      ),
      renaming === one.id ? naming(desk, one, rename) : null,
      desk.told(order),
      desk.told(`revoke-${one.id}`),
    );
  };
  return section("paired", t("browser.paired"), h("ul", { class: "box list" }, browsers.map(row)));
}

/**
 * @param {Desk} desk
 * @param {BrowserState["paired"][number]} one
 * @param {(desk: Desk, id: string | null) => void} rename
 * @returns {Child}
 */
function naming(desk, one, rename) {
  const t = desk.t;
  const save = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const name = String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("name")).trim();
    if (!name) return;
    desk.order(`browser-${one.id}`, async () => {
      await desk.bridge.call("rename_browser", { id: one.id, name });
      rename(desk, null);
    });
  };
  return h(
    "form",
    { class: "inline", on: { submit: save } },
    field({ id: `name-${one.id}`, label: t("browser.name"), props: { name: "name", value: one.name, maxlength: "60", required: true, autocomplete: "off" } }),
    h("button", { type: "submit", id: `save-name-${one.id}`, class: "button primary" }, t("browser.save")),
    button(desk, { id: `keep-name-${one.id}`, label: t("connect.cancel"), press: () => rename(desk, null) }),
  );
}
