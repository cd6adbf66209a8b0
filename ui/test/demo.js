/** Puts the fake app into a page that `serve.mjs` serves: `?scene=NAME&language=zh-CN&press=ID,ID`. */

import { install } from "./fake.js";
import { scenes } from "./scenes.js";

const asked = new URLSearchParams(location.search);
const fake = install(window, (snapshot) => {
  scenes[asked.get("scene") ?? "off"]?.(snapshot);
  if (asked.get("language") === "zh-CN") snapshot.language = "zh-CN";
});
Object.assign(window, { fake });

// Then what is to be pressed, each as soon as it is there.
const press = (asked.get("press") ?? "").split(",").filter(Boolean);
const beat = setInterval(() => {
  const next = document.getElementById(press[0] ?? "");
  if (press.length === 0) clearInterval(beat);
  if (!next || next.getAttribute("aria-disabled")) return;
  press.shift();
  if (next instanceof HTMLDetailsElement) next.open = true;
  else next.click();
}, 60);
