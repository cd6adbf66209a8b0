/**
 * The words of the pages in the person's language. A word that is missing is a type error, so no page can show a key.
 */
/** @typedef {import("../bridge.js").Language} Language */

import en from "./words/en.js";
import zh from "./words/zh-CN.js";

/** @typedef {keyof typeof en} Word */
/** @typedef {{ [name: string]: string | number }} Values What stands for the `{names}` of a text. */
/** @typedef {((word: Word, values?: Values) => string) & { language: Language, find(word: string): string | null, meant(text: string): string[] }} Text */

/** @type {{ [language: string]: { [word: string]: string } }} */
const words = { en, "zh-CN": zh };

/**
 * The texts of a language.
 * @param {Language} language
 * @returns {Text}
 */
export function texts(language) {
  /** @type {{ [word: string]: string | undefined }} */
  const own = words[language] ?? en;
  /** @param {Word} word @param {Values} [values] */
  const text = (word, values = {}) => fill(own[word] ?? en[word], values);
  // For what the app names and pages may not know: groups, tools, reasons.
  const find = (/** @type {string} */ word) => own[word] ?? null;
  /** The words whose text has this in it. @param {string} part */
  const meant = (part) => Object.keys(own).filter((word) => own[word]?.toLowerCase().includes(part.toLowerCase()));
  return Object.assign(text, { language, find, meant });
}

/**
 * @param {string} text
 * @param {Values} values
 */
function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
