/**
 * The settings. Each takes effect when it is changed; what was wrong with it is told beside it.
 * @import { Settings } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { button, confirmed, field, remark, section, tick } from "../parts.js";

/** @returns {import("../main.js").Page} */
export function settings() {
  /** Whether the next keys pressed become the stop key. */
  let recording = false;
  return {
    closed() {
      recording = false;
    },
    view(desk) {
      const record = (/** @type {boolean} */ on) => {
        recording = on;
        desk.focus = on ? "stop-key" : "record-stop-key";
        desk.refresh();
      };
      return [
        desk.snapshot.settings.restartNeeded ? remark("info", h("p", { role: "status" }, desk.t("settings.restartNeeded"))) : null,
        general(desk),
        safety(desk, recording, record),
        working(desk),
        ending(desk),
      ];
    },
  };
}

/** @param {Desk} desk @param {keyof Settings} name @param {any} value */
function set(desk, name, value) {
  return desk.order(`settings-${name}`, () => desk.bridge.call("set_settings", { settings: { [name]: value } }));
}

/**
 * @param {Desk} desk
 * @param {"language" | "browser" | "ocr"} name
 * @param {string} label
 * @param {[string, string][]} options
 * @param {string} [hint]
 * @returns {Child}
 */
function select(desk, name, label, options, hint) {
  const now = desk.snapshot.settings[name];
  return field({
    id: `setting-${name}`,
    label,
    hint,
    tag: "select",
    props: { value: now, on: { change: (event) => set(desk, name, event.target.value) } },
    children: options.map(([value, text]) => h("option", { key: value, value }, text)),
    after: desk.told(`settings-${name}`),
  });
}

/**
 * @param {Desk} desk
 * @param {"takeover" | "startAtLogin"} name
 * @param {string} id
 * @param {string} label
 * @param {string} meaning
 * @returns {Child}
 */
function toggle(desk, name, id, label, meaning) {
  const checked = desk.snapshot.settings[name];
  return [tick({ id, label, meaning, checked, toggle: true, change: (on) => void set(desk, name, on) }), desk.told(`settings-${name}`)];
}

/** Each language by its own name. @param {Desk} desk @returns {Child} */
export function language(desk) {
  return select(desk, "language", desk.t("settings.language"), [
    ["system", desk.t("settings.languageSystem")],
    ["en", "English"],
    ["zh-CN", "简体中文"],
  ]);
}

/** @param {Desk} desk @returns {Child} */
function general(desk) {
  const t = desk.t;
  return section(
    "general",
    t("settings.general"),
    h(
      "div",
      { class: "box form" },
      language(desk),
      toggle(desk, "startAtLogin", "start-at-login", t("settings.startAtLogin"), t("settings.startAtLoginMeaning")),
    ),
  );
}

/** Keys as a person writes them, from the keys that are down. @param {KeyboardEvent} event @returns {string | null} */
export function chord(event) {
  if (["Control", "Alt", "Shift", "Meta", "AltGraph"].includes(event.key)) return null;
  const held = [event.ctrlKey && "Ctrl", event.altKey && "Alt", event.shiftKey && "Shift", event.metaKey && "Super"].filter(Boolean);
  if (held.length === 0) return null;
  /** @type {{ [key: string]: string }} */
  const short = { Escape: "Esc", " ": "Space", ArrowUp: "Up", ArrowDown: "Down", ArrowLeft: "Left", ArrowRight: "Right" };
  // With modifiers held, `key` may be a sign that no one would look for; the key's own place tells its letter.
  const letter = /^(?:Key|Digit)(.)$/.exec(event.code)?.[1];
  return [...held, letter ?? short[event.key] ?? event.key].join("+");
}

/**
 * @param {Desk} desk
 * @param {boolean} recording
 * @param {(on: boolean) => void} record
 * @returns {Child}
 */
function safety(desk, recording, record) {
  const { t, snapshot } = desk;
  const pressed = (/** @type {KeyboardEvent} */ event) => {
    if (!recording) return;
    if (event.key === "Tab" || (event.key === "Escape" && !event.ctrlKey && !event.altKey)) return record(false);
    event.preventDefault();
    const keys = chord(event);
    if (!keys) return;
    record(false);
    set(desk, "stopKey", keys);
  };
  const changed = (/** @type {any} */ event) => {
    if (!recording) set(desk, "stopKey", event.target.value.trim());
  };
  return section(
    "safety",
    t("settings.safety"),
    h(
      "div",
      { class: "box form" },
      field({
        id: "stop-key",
        label: t("settings.stopKey"),
        hint: t(recording ? "settings.stopKeyPress" : "settings.stopKeyHint"),
        props: { value: snapshot.settings.stopKey, class: "short", readonly: recording, autocomplete: "off", spellcheck: "false", on: { keydown: pressed, change: changed } },
        beside: button(desk, {
          id: "record-stop-key",
          label: t(recording ? "settings.recording" : "settings.record"),
          press: () => record(!recording),
          more: { "aria-pressed": recording ? "true" : "false" },
        }),
        after: desk.told("settings-stopKey"),
      }),
      toggle(desk, "takeover", "takeover", t("settings.takeover"), t("settings.takeoverMeaning")),
      field({
        id: "block-origins",
        label: t("settings.blockOrigins"),
        hint: t("settings.blockOriginsHint"),
        tag: "textarea",
        props: {
          rows: "4",
          spellcheck: "false",
          value: snapshot.settings.blockOrigins.join("\n"),
          on: { change: (event) => set(desk, "blockOrigins", event.target.value.split("\n").map((/** @type {string} */ line) => line.trim()).filter(Boolean)) },
        },
        after: desk.told("settings-blockOrigins"),
      }),
    ),
  );
}

/** @param {Desk} desk @returns {Child} */
function working(desk) {
  const { t, snapshot } = desk;
  const own = snapshot.settings;
  const port = (/** @type {any} */ event) => {
    const wanted = Number(event.target.value);
    set(desk, "port", wanted);
  };
  const names = new Intl.DisplayNames(t.language, { type: "language" });
  const named = (/** @type {string} */ code) => {
    try {
      return names.of(code) ?? code;
    } catch {
      return code;
    }
  };
  return section(
    "working",
    t("settings.working"),
    h(
      "div",
      { class: "box form" },
      select(desk, "browser", t("settings.browser"), [
        ["auto", t("settings.browserAuto")],
        ["managed", t("settings.browserManaged")],
        ["extension", t("settings.browserExtension")],
      ]),
      select(
        desk,
        "ocr",
        t("settings.ocr"),
        [
          ["auto", t("settings.ocrAuto")],
          ["pp", "PP-OCR"],
          ["tesseract", "Tesseract"],
        ],
        own.ocrLanguages.length ? t("settings.ocrLanguages", { languages: own.ocrLanguages.map(named).join(t("list.separator")) }) : t("settings.ocrNone"),
      ),
      field({
        id: "port",
        label: t("settings.port"),
        hint: t("settings.portHint"),
        props: { type: "number", class: "short", min: "0", max: "65535", step: "1", inputmode: "numeric", value: String(own.port), on: { change: port } },
        after: desk.told("settings-port"),
      }),
      h("div", { class: "field" }, h("span", { class: "label" }, t("settings.dataFolder")), h("code", { class: "path", id: "data-folder" }, own.dataFolder)),
    ),
  );
}

/** @param {Desk} desk @returns {Child} */
function ending(desk) {
  const t = desk.t;
  return section(
    "ending",
    t("settings.ending"),
    h(
      "div",
      { class: "buttons" },
      confirmed(desk, { id: "reset", label: t("settings.reset"), question: t("settings.resetReally"), yes: t("settings.reset"), work: async () => {
        await desk.bridge.call("reset_settings");
        return t("settings.resetDone");
      } }),
      button(desk, { id: "quit", label: t("settings.quit"), order: "quit", press: () => desk.order("quit", () => desk.bridge.call("quit")) }),
    ),
    desk.told("reset"),
    desk.told("quit"),
    desk.snapshot.tray ? null : h("p", { class: "hint" }, t("settings.noTray")),
    h("p", { class: "hint" }, t("settings.version", { version: desk.snapshot.version })),
  );
}
