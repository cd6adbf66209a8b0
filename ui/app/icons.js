/**
 * Pictures drawn by a few strokes, in the colour of the text beside them. They say nothing that the text does not.
 * @import { Description } from "./dom.js"
 */

import { h } from "./dom.js";

/** @type {{ [name: string]: string[] }} */
const strokes = {
  control: ["M12 3v8", "M6.3 6.8a8 8 0 1 0 11.4 0"],
  permissions: ["M4 7h9", "M19 7h1", "M16 4.5v5", "M4 17h1", "M11 17h9", "M8 14.5v5"],
  activity: ["M12 7v5l3.2 2", "M3.5 12a8.5 8.5 0 1 0 2.6-6.1L3.5 8", "M3.5 3.8V8h4.2"],
  connect: ["M9 4v4", "M15 4v4", "M6.5 8h11v3a5.5 5.5 0 0 1-11 0z", "M12 16.5V21"],
  browser: ["M3.5 12a8.5 8.5 0 1 0 17 0a8.5 8.5 0 1 0-17 0", "M3.8 9.5h16.4", "M3.8 14.5h16.4", "M12 3.5c-5 5-5 12 0 17c5-5 5-12 0-17"],
  gateway: ["M7 18.5h10a4 4 0 0 0 .6-8A6 6 0 0 0 6 9.6a4.5 4.5 0 0 0 1 8.9z"],
  settings: [
    "M9 12a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "M12 3v2.5",
    "M12 18.5V21",
    "M3 12h2.5",
    "M18.5 12H21",
    "M5.6 5.6l1.8 1.8",
    "M16.6 16.6l1.8 1.8",
    "M5.6 18.4l1.8-1.8",
    "M16.6 7.4l1.8-1.8",
  ],
  pause: ["M8.5 5.5v13", "M15.5 5.5v13"],
  resume: ["M8 5l11 7l-11 7z"],
  stop: ["M6 6h12v12H6z"],
  warning: ["M12 4L2.8 19.5h18.4z", "M12 10v4.5", "M12 17v.2"],
  tick: ["M5 12.5l4.5 4.5L19 7.5"],
  cross: ["M6.5 6.5l11 11", "M17.5 6.5l-11 11"],
  folder: ["M3.5 6.5h6l2 2.5h9v9.5h-17z"],
  more: ["M9 6l6 6l-6 6"],
};

/**
 * @param {keyof typeof strokes} name
 * @returns {Description}
 */
export function icon(name) {
  const paths = (strokes[name] ?? []).map((d) => h("path", { d }));
  return h("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, paths);
}

/** The product's sign: a pointer, with a light that is on while AI control is. @param {string} state @returns {Description} */
export function sign(state) {
  return h(
    "svg",
    { class: "sign", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false", "data-state": state },
    h("rect", { x: "1", y: "1", width: "30", height: "30", rx: "7" }),
    h("path", { d: "M10 7.5v15l3.7-3.4l2.6 6l2.9-1.3l-2.6-5.8h5z" }),
    h("circle", { cx: "25", cy: "7.5", r: "4" }),
  );
}
