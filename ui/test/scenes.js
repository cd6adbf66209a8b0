/**
 * Named states to look at: what each changes in the snapshot.
 * @import { Snapshot } from "../bridge.js"
 */

const all = ["screen", "mouse", "keyboard", "file_read", "file_list", "browser_read", "browser_act"];

/** @param {Snapshot} s */
function on(s) {
  s.control = { state: "authorised", why: null, reason: null, groups: all, callers: null, until: Date.now() + 872_000 };
  s.acting = { caller: "claude-code", callerName: "Claude Code", tool: "computer_mouse_click" };
}

/** @param {Snapshot} s @param {"group" | "authorize"} kind */
function question(s, kind) {
  s.question = {
    id: 3,
    kind,
    group: kind === "group" ? "keyboard" : null,
    caller: "claude-code",
    callerName: "Claude Code",
    program: "/usr/bin/node (claude), process 4211",
    tool: "computer_keyboard_type",
    toolSummary: "Types exactly this text into the window that has the keyboard focus",
    arguments: '{"text":{"length":40},"interval":0,"note":"a \\u202eb"}',
    waiting: 2,
    expires: Date.now() + 104_000,
  };
}

/** @type {{ [name: string]: (snapshot: Snapshot) => void }} */
export const scenes = {
  off: () => {},
  stopped: (s) => void (s.control.reason = "stop_key"),
  on,
  paused(s) {
    on(s);
    Object.assign(s.control, { state: "paused", reason: "takeover" });
  },
  forever(s) {
    on(s);
    s.control.until = null;
    s.control.callers = ["claude-code"];
    s.acting = null;
  },
  problem: (s) => void (s.problem = "Another Deskhand uses the folder /home/ann/.local/state/deskhand. End it, then start Deskhand again."),
  trayless: (s) => void (s.tray = false),
  first: (s) => void (s.firstRun = true),
  fresh(s) {
    s.callers.length = 1;
    s.standing = [];
    s.folders = [];
    s.browser.paired = [];
    s.gateway = { state: "signed_out", server: null, user: null, since: null, lastError: null };
  },
  pairing: (s) => void (s.browser.pairing = { code: "KXQ7-M2RD", address: "127.0.0.1:47800", expires: Date.now() + 96_000 }),
  replaced: (s) => void (s.gateway = { state: "replaced", server: "https://gateway.example", user: "ann", since: null, lastError: "4001: another executor took this place" }),
  group(s) {
    on(s);
    question(s, "group");
  },
  authorize: (s) => question(s, "authorize"),
};
