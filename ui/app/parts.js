/**
 * The parts that pages are put together from, each with the names and roles that a screen reader and the keyboard need.
 * @import { Desk } from "./desk.js"
 * @import { Child, Description, Props } from "./dom.js"
 */

import { h } from "./dom.js";
import { icon } from "./icons.js";

/**
 * A button. While its order is under way it says so and does nothing.
 * @param {Desk} desk
 * @param {object} what
 * @param {string} what.id
 * @param {string} what.label
 * @param {() => void} what.press
 * @param {"primary" | "danger" | "plain" | "quiet"} [what.kind]
 * @param {string} [what.order] key of the order that it gives
 * @param {string} [what.icon]
 * @param {boolean} [what.off]
 * @param {Props} [what.more]
 * @returns {Description}
 */
export function button(desk, what) {
  const busy = what.order !== undefined && desk.busy(what.order);
  return h(
    "button",
    {
      id: what.id,
      type: "button",
      class: `button ${what.kind ?? "plain"}`,
      disabled: what.off ?? false,
      "aria-busy": busy ? "true" : null,
      on: { click: what.press },
      ...what.more,
    },
    what.icon ? icon(what.icon) : null,
    h("span", null, what.label),
  );
}

/**
 * A part of a page under a heading of its own.
 * @param {string} id
 * @param {string} title
 * @param {...Child} children
 * @returns {Description}
 */
export function section(id, title, ...children) {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), children);
}

/**
 * One of several, side by side.
 * @param {object} what
 * @param {string} what.name
 * @param {string} what.legend
 * @param {{ id: string, label: string, value: string }[]} what.options
 * @param {string} what.value
 * @param {(value: string) => void} what.choose
 * @param {boolean} [what.hiddenLegend]
 * @returns {Description}
 */
export function choice(what) {
  const option = (/** @type {{ id: string, label: string, value: string }} */ one) =>
    h(
      "label",
      { key: one.id, class: "option" },
      h("input", {
        type: "radio",
        id: one.id,
        name: what.name,
        checked: one.value === what.value,
        on: { change: () => what.choose(one.value) },
      }),
      h("span", null, one.label),
    );
  return h(
    "fieldset",
    { class: "choice", key: what.name },
    h("legend", { class: what.hiddenLegend ? "unseen" : null }, what.legend),
    h("div", { class: "options" }, what.options.map(option)),
  );
}

/**
 * Something to tick, with a line that says what it means.
 * @param {object} what
 * @param {string} what.id
 * @param {string} what.label
 * @param {Child} [what.meaning]
 * @param {boolean} what.checked
 * @param {boolean} [what.off]
 * @param {boolean} [what.toggle] shown as a switch: it takes effect at once
 * @param {(checked: boolean) => void} what.change
 * @returns {Description}
 */
export function tick(what) {
  const meaning = what.meaning ? h("span", { class: "meaning", id: `${what.id}-meaning` }, what.meaning) : null;
  return h(
    "div",
    { class: `tick${what.toggle ? " toggle" : ""}${what.off ? " off" : ""}`, key: `${what.id}-row` },
    h("input", {
      type: "checkbox",
      role: what.toggle ? "switch" : null,
      id: what.id,
      checked: what.checked,
      disabled: what.off ?? false,
      "aria-describedby": meaning ? `${what.id}-meaning` : null,
      on: {
        change: (event) => {
          const wanted = event.target.checked;
          // The app decides what is so; the next showing draws it.
          event.target.checked = what.checked;
          what.change(wanted);
        },
      },
    }),
    h("div", { class: "words" }, h("label", { for: what.id }, what.label), meaning),
  );
}

/**
 * A label with its control below, and a hint that the control is described by.
 * @param {object} what
 * @param {string} what.label
 * @param {string} what.id
 * @param {string} [what.hint]
 * @param {"input" | "select" | "textarea"} [what.tag]
 * @param {Props} what.props
 * @param {Child} [what.children]
 * @param {Child} [what.beside] stands beside the control
 * @param {Child} [what.after]
 * @returns {Description}
 */
export function field(what) {
  const hint = what.hint ? h("p", { class: "hint", id: `${what.id}-hint` }, what.hint) : null;
  const control = h(what.tag ?? "input", { ...what.props, id: what.id, "aria-describedby": hint ? `${what.id}-hint` : null }, what.children);
  return h(
    "div",
    { class: "field", key: `${what.id}-field` },
    h("label", { for: what.id }, what.label),
    what.beside ? h("div", { class: "beside" }, control, what.beside) : control,
    hint,
    what.after,
  );
}

/**
 * A remark that is not to be missed.
 * @param {"info" | "warn" | "danger"} kind
 * @param {...Child} children
 * @returns {Description}
 */
export function remark(kind, ...children) {
  return h("div", { class: `remark ${kind}` }, kind === "info" ? null : icon("warning"), h("div", null, children));
}

/**
 * A button that asks "really?" in its own place before it does what cannot be undone.
 * @param {Desk} desk
 * @param {object} what
 * @param {string} what.id
 * @param {string} what.label
 * @param {string} what.question
 * @param {string} what.yes
 * @param {() => Promise<string | null | void>} what.work
 * @param {"danger" | "plain" | "quiet"} [what.kind]
 * @returns {Description}
 */
export function confirmed(desk, what) {
  const close = (/** @type {string} */ focus) => {
    desk.asking = null;
    desk.focus = focus;
    desk.refresh();
  };
  const open = () => {
    desk.asking = what.id;
    desk.focus = `${what.id}-keep`;
    desk.forget(what.id);
    desk.refresh();
  };
  if (desk.asking !== what.id) {
    return button(desk, { id: what.id, label: what.label, kind: what.kind ?? "plain", order: what.id, press: open });
  }
  const yes = () => {
    close(what.id);
    desk.order(what.id, what.work);
  };
  return h(
    "div",
    {
      class: "really",
      role: "group",
      "aria-label": what.question,
      key: `${what.id}-really`,
      on: { keydown: (event) => event.key === "Escape" && close(what.id) },
    },
    h("span", null, what.question),
    button(desk, { id: `${what.id}-keep`, label: desk.t("really.keep"), press: () => close(what.id) }),
    button(desk, { id: `${what.id}-yes`, label: what.yes, kind: "danger", press: yes }),
  );
}
