/**
 * The small window that says who acts, with Stop on it. It says nothing else and takes no focus.
 * @import { Child } from "./dom.js"
 * @import { Desk } from "./desk.js"
 */

import { connect } from "./bridge.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { toolName } from "./names.js";
import { visible } from "./shown.js";
import { keepInLine } from "./window.js";

document.documentElement.classList.add("pill");
await keepInLine(connect(), view);

/** @param {Desk} desk @returns {Child} */
function view(desk) {
  const { t, snapshot } = desk;
  const { acting, control } = snapshot;
  document.title = t("pill.title");
  return h(
    "main",
    { class: "pill-body", "data-state": control.state },
    h("span", { class: acting ? "pulse" : "pulse still", "aria-hidden": "true" }),
    h(
      "p",
      { id: "pill-text" },
      h("strong", null, acting ? t("pill.acting") : t(`state.${control.state}`)),
      acting ? h("span", { class: "rest" }, ` · ${visible(acting.callerName)} · ${toolName(t, acting.tool)}`) : null,
      desk.told("stop"),
    ),
    h("button", { id: "stop", type: "button", class: "button danger", on: { click: () => desk.stop("stop") } }, icon("stop"), h("span", null, t("control.stop"))),
  );
}
