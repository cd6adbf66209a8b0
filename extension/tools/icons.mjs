// Draws the icons, so that they need no drawing program: a hand-shaped pointer on a rounded square, by distance
// fields with 4×4 samples a pixel. Run `node tools/icons.mjs` in this folder after a change.

import { writeFileSync } from "node:fs";
import { png } from "./formats.mjs";

const PALETTES = { on: [[26, 95, 180], [255, 255, 255], [87, 227, 137]], off: [[119, 118, 123], [255, 255, 255], [192, 191, 188]] };

// All in a unit square.
const box = (x, y, cx, cy, hx, hy, r) => {
  const dx = Math.max(Math.abs(x - cx) - hx + r, 0);
  const dy = Math.max(Math.abs(y - cy) - hy + r, 0);
  return Math.hypot(dx, dy) <= r;
};
const POINTER = [[0.3, 0.2], [0.3, 0.74], [0.42, 0.62], [0.5, 0.8], [0.6, 0.755], [0.52, 0.585], [0.69, 0.57]];
const inside = (x, y, shape) => {
  let hit = false;
  for (let i = 0, j = shape.length - 1; i < shape.length; j = i++) {
    const [xi, yi] = shape[i];
    const [xj, yj] = shape[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) hit = !hit;
  }
  return hit;
};

function colourAt(x, y, [ground, pointer, lamp]) {
  if (Math.hypot(x - 0.78, y - 0.24) < 0.13) return lamp;
  if (inside(x, y, POINTER)) return pointer;
  return box(x, y, 0.5, 0.5, 0.47, 0.47, 0.2) ? ground : undefined;
}

function draw(size, palette) {
  const rows = Buffer.alloc(size * (size * 4 + 1));
  for (let py = 0; py < size; py++) {
    for (let px = 0; px < size; px++) {
      const sum = [0, 0, 0, 0];
      for (let s = 0; s < 16; s++) {
        const c = colourAt((px + (s % 4) / 4 + 0.125) / size, (py + Math.floor(s / 4) / 4 + 0.125) / size, palette);
        if (c) [0, 1, 2].forEach((i) => (sum[i] += c[i])), sum[3]++;
      }
      const at = py * (size * 4 + 1) + 1 + px * 4;
      [0, 1, 2].forEach((i) => (rows[at + i] = sum[3] ? Math.round(sum[i] / sum[3]) : 0));
      rows[at + 3] = Math.round((sum[3] / 16) * 255);
    }
  }
  return png(size, size, rows);
}

for (const [state, palette] of Object.entries(PALETTES)) {
  for (const size of [16, 32, 48, 128]) {
    if (state === "off" && size === 128) continue;
    writeFileSync(new URL(`../icons/${state}-${size}.png`, import.meta.url), draw(size, palette));
  }
}
