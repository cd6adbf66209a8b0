/**
 * What the app calls by a name, in the person's words. The app may know names that the pages do not; then its own words stand.
 * @import { CallerInfo, Control, GroupInfo } from "../bridge.js"
 * @import { Text } from "./language.js"
 */

/** @param {Text} t @param {string} name @returns {string} */
export function groupName(t, name) {
  return t.find(`group.${name}`) ?? name;
}

/** @param {Text} t @param {GroupInfo} group @returns {string} */
export function groupMeaning(t, group) {
  return t.find(`meaning.${group.name}`) ?? group.meaning;
}

/** @param {Text} t @param {string} name @returns {string} */
export function toolName(t, name) {
  return t.find(`tool.${name}`) ?? name;
}

/** @param {Text} t @param {string} result @returns {string} */
export function resultName(t, result) {
  return t.find(`result.${result}`) ?? result;
}

/**
 * Why AI control is off or paused.
 * @param {Text} t
 * @param {Control} control
 * @returns {string | null}
 */
export function reason(t, control) {
  // It has just started: nobody needs a reason for what has not begun.
  if (control.reason === "start") return null;
  const known = control.reason ? t.find(`reason.${control.state}.${control.reason}`) : null;
  return known ?? (control.why ? sentence(control.why) : null);
}

/** What the app says in passing, as a sentence of its own. @param {string} text */
function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?。]$/.test(text) ? "" : ".");
}

/**
 * What the journal calls what the person looks for: it knows tools and results by name, the person by their words.
 * @param {Text} t
 * @param {string} text
 * @returns {string[]} the text itself first
 */
export function inJournal(t, text) {
  // A single plain word is part of the names themselves.
  if (!/[^\x21-\x7e]/.test(text)) return [text];
  const names = t.meant(text).filter((word) => /^(tool|result)\./.test(word));
  return [text, ...names.map((word) => word.slice(word.indexOf(".") + 1))].slice(0, 16);
}

/**
 * For whom the grant is.
 * @param {Text} t
 * @param {string[] | null} ids
 * @param {CallerInfo[]} callers
 * @returns {string}
 */
export function forWhom(t, ids, callers) {
  if (ids === null) return t("grant.everybody");
  return ids.map((id) => callers.find((caller) => caller.id === id)?.name ?? id).join(t("list.separator"));
}
