/**
 * Texts that others wrote (agents, programs, pages), made safe to read: what would hide or turn round other characters is
 * written out, so that a person who decides by such a text sees all of it in its order.
 */

/** Control characters other than tab and line feed, marks of direction, and what has no width. */
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** @param {string} text @returns {string} */
export function visible(text) {
  return text.replace(HIDDEN, (sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** JSON laid out for reading; what is no JSON stays as it is. @param {string} text @returns {string} */
export function laidOut(text) {
  try {
    return visible(JSON.stringify(JSON.parse(text), null, 2));
  } catch {
    return visible(text);
  }
}
