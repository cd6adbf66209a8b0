/** The main window. */
import { connect } from "./bridge.js";
import { h, render } from "./dom.js";
import { texts } from "./language.js";

const bridge = connect();
const root = /** @type {Element} */ (document.getElementById("app"));

/** @param {import("../bridge.js").Snapshot} snapshot */
function show(snapshot) {
  const t = texts(snapshot.language);
  document.documentElement.lang = snapshot.language;
  render(root, [
    h("h1", { id: "state", "data-state": snapshot.control.state }, t(snapshot.problem ? "state.problem" : `state.${snapshot.control.state}`)),
    h("button", { id: "stop", on: { click: () => bridge.call("stop") } }, "Stop"),
  ]);
}

await bridge.on("snapshot", show);
show(await bridge.call("snapshot"));
