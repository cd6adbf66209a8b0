// What went wrong, in a form that travels: a reason that a program can sort by, and a sentence for a reader.
//
// Reasons: not_lent, closed, restricted, conflict, detached, not_allowed, too_large, bad_request, cdp, failed.

export class Fault extends Error {
  constructor(reason, message, code) {
    super(message);
    this.reason = reason;
    this.code = code;
  }

  // The `error` member of an answer.
  frame() {
    const frame = { reason: this.reason, message: this.message };
    if (this.code !== undefined) frame.code = this.code;
    return frame;
  }

  static of(error) {
    return error instanceof Fault ? error : new Fault("failed", String(error?.message ?? error));
  }
}

// Chrome reports a CDP error of `sendCommand` as JSON inside the message, and its own refusals as plain English.
export function commandFault(error) {
  const text = String(error?.message ?? error);
  try {
    const told = JSON.parse(text);
    if (told && typeof told.message === "string") return new Fault("cdp", told.message, told.code);
  } catch {
    // Not JSON: one of Chrome's own sentences.
  }
  if (/not attached|detached while/i.test(text)) {
    return new Fault("detached", "the debugger was detached from the tab while the command was under way");
  }
  return attachFault(error);
}

export function attachFault(error) {
  const text = String(error?.message ?? error);
  if (/no tab with|no target with/i.test(text)) return new Fault("closed", "the tab is closed");
  if (/another debugger|already attached/i.test(text)) {
    return new Fault("conflict", "another debugger holds this tab; close its developer tools or the other extension's control, then try again");
  }
  if (/cannot access|cannot attach|not allowed|gallery|restricted|policy/i.test(text)) {
    return new Fault("restricted", `Chrome does not let extensions control this page (${text}); go to an ordinary web page`);
  }
  return new Fault("failed", text);
}
