/**
 * Times as a person reads them: what is left, when, how long it took.
 * @import { Text } from "./language.js"
 */

/**
 * What is left, as a clock that runs down: `14:32`, `1:02:10`.
 * @param {number} milliseconds
 * @returns {string}
 */
export function left(milliseconds) {
  const all = Math.max(0, Math.ceil(milliseconds / 1000));
  const [hours, minutes, seconds] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
}

/** Formats are costly to make and cheap to use. @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** @param {Text} t @param {Intl.DateTimeFormatOptions} options */
function format(t, options) {
  const key = JSON.stringify([t.language, options]);
  const made = formats.get(key) ?? new Intl.DateTimeFormat(t.language, options);
  formats.set(key, made);
  return made;
}

/**
 * The time of day.
 * @param {Text} t
 * @param {number} at milliseconds since 1970
 * @param {boolean} [seconds]
 * @returns {string}
 */
export function clock(t, at, seconds = false) {
  return format(t, { timeStyle: seconds ? "medium" : "short" }).format(at);
}

/**
 * The day, as "Today" where it is.
 * @param {Text} t
 * @param {number} at milliseconds since 1970
 * @param {number} now milliseconds since 1970
 * @returns {string}
 */
export function day(t, at, now) {
  const start = (/** @type {number} */ time) => new Date(time).setHours(0, 0, 0, 0);
  if (start(at) === start(now)) return t("time.today");
  if (start(at) === start(start(now) - 1)) return t("time.yesterday");
  return format(t, { dateStyle: "full" }).format(at);
}

/**
 * The day and the time of day, the day left away for today.
 * @param {Text} t
 * @param {number} at milliseconds since 1970
 * @param {number} now milliseconds since 1970
 * @returns {string}
 */
export function moment(t, at, now) {
  if (day(t, at, now) === t("time.today")) return clock(t, at);
  return format(t, { dateStyle: "medium", timeStyle: "short" }).format(at);
}

/**
 * How long something took.
 * @param {Text} t
 * @param {number} milliseconds
 * @returns {string}
 */
export function took(t, milliseconds) {
  const seconds = new Intl.NumberFormat(t.language, { maximumFractionDigits: milliseconds < 10_000 ? 1 : 0 });
  return t("time.seconds", { n: seconds.format(Math.max(0, milliseconds) / 1000) });
}
