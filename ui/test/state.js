/**
 * A state to show pages with, as an app with everything in use would send it. Groups and tools are those of the product.
 * @import { Snapshot } from "../bridge.js"
 */

/** @type {[string, boolean, [string, boolean][]][]} */
const groups = [
  ["screen", true, [["computer_screenshot", false], ["computer_screen_size", false], ["computer_active_window", false], ["computer_screen_text", false], ["computer_wait_for", false]]],
  ["mouse", true, [["computer_mouse_click", true], ["computer_mouse_move", true], ["computer_mouse_drag", true], ["computer_mouse_scroll", true], ["computer_click_text", true]]],
  ["keyboard", true, [["computer_keyboard_type", true], ["computer_keyboard_press", true]]],
  ["file_read", true, [["computer_file_read", false]]],
  ["file_write", false, [["computer_file_write", true]]],
  ["file_list", true, [["computer_file_list", false], ["computer_whitelist", false], ["computer_file_search", false]]],
  ["browser_read", true, [["browser_get_content", false], ["browser_screenshot", false]]],
  ["browser_act", true, [["browser_navigate", true], ["browser_click", true], ["browser_type", true]]],
  ["browser_script", true, [["browser_execute", true]]],
  ["extra", false, []],
];

/** @param {number} now milliseconds since 1970 @returns {Snapshot} */
export function snapshot(now) {
  return {
    version: "1.4.0",
    language: "en",
    firstRun: false,
    problem: null,
    control: { state: "off", why: "The person has not authorised AI control yet.", reason: "start", groups: [], callers: null, until: null },
    acting: null,
    question: null,
    groups: groups.map(([name, enabled, tools]) => ({
      name,
      meaning: `What ${name} lets an agent do`,
      enabled,
      tools: tools.map(([tool, changes]) => ({ name: tool, summary: `What ${tool} does.`, changes })),
    })),
    callers: [
      { id: "main", kind: "main", name: "Main token", lastSeen: null },
      { id: "claude-code", kind: "client", name: "Claude Code", lastSeen: now - 4000 },
      { id: "cursor", kind: "client", name: "Cursor", lastSeen: null },
      { id: "gateway:ann", kind: "gateway", name: "ann at gateway.example", lastSeen: now - 90_000 },
    ],
    standing: [
      { caller: "claude-code", callerName: "Claude Code", group: "browser_read", allowed: true },
      { caller: "gateway:ann", callerName: "ann at gateway.example", group: "keyboard", allowed: false },
    ],
    folders: [
      { path: "/home/ann/shared", warning: null },
      { path: "/home/ann", warning: "home" },
    ],
    browser: {
      choice: "auto",
      pairing: null,
      paired: [
        { id: "b1", name: "Chrome, work", connected: true, preferred: true },
        { id: "b2", name: "Edge", connected: false, preferred: false },
      ],
      extensionFolder: "/usr/share/deskhand/extension",
    },
    gateway: { state: "connected", server: "https://gateway.example", user: "ann", since: now - 3_600_000, lastError: null },
    settings: {
      language: "system",
      port: 47800,
      stopKey: "Ctrl+Alt+Esc",
      takeover: true,
      startAtLogin: false,
      browser: "auto",
      ocr: "auto",
      ocrLanguages: ["en", "zh", "ja", "ko", "ru", "de", "fr"],
      blockOrigins: ["https://bank.example"],
      dataFolder: "/home/ann/.local/state/deskhand",
      restartNeeded: false,
    },
    tray: true,
  };
}

/** A grey square. */
const PICTURE =
  "data:image/svg+xml;base64," +
  btoa('<svg xmlns="http://www.w3.org/2000/svg" width="240" height="150"><rect width="240" height="150" fill="#cfd8e3"/><rect x="70" y="55" width="100" height="36" rx="6" fill="#1a5fb4"/><circle cx="120" cy="73" r="9" fill="none" stroke="#fff" stroke-width="3"/></svg>');

/** @param {number} now @returns {import("../bridge.js").ActivityEntry[]} */
export function entries(now) {
  /** @type {[string, string[], string | null, string, string | null, string, number][]} */
  const done = [
    ["computer_screenshot", ["screen"], null, "ok", "A picture of 1920x1080.", "{}", 180],
    ["computer_mouse_click", ["mouse"], "640, 400", "ok", "Clicked at 640,400.", '{"x":640,"y":400}', 95],
    ["computer_keyboard_type", ["keyboard"], null, "partly", "32 of 40 characters were typed before Stop.", '{"text":{"length":40}}', 1460],
    ["browser_navigate", ["browser_act"], "https://example.org/orders/new", "ok", null, '{"url":"https://example.org/orders/new"}', 2200],
    ["computer_file_write", ["file_write"], null, "denied", "Changing files is switched off. The person can switch it on in Deskhand under Permissions.", '{"path":"/home/ann/shared/notes.txt","content":{"length":812}}', 2],
    ["browser_execute", ["browser_script"], "https://example.org/", "timed_out", "The script did not end within 25 s.", '{"script":{"length":91}}', 25_000],
  ];
  return done.map(([tool, of, where, result, text, args, time], n) => ({
    seq: 200 - n,
    start: now - n * 47_000 - (n > 3 ? 86_400_000 : 0),
    end: now - n * 47_000 - (n > 3 ? 86_400_000 : 0) + time,
    caller: n % 2 ? "claude-code" : "gateway:ann",
    callerName: n % 2 ? "Claude Code" : "ann at gateway.example",
    tool,
    groups: of,
    where,
    result,
    text,
    arguments: args,
    picture: tool === "computer_mouse_click" ? PICTURE : null,
  }));
}

/** @type {import("../bridge.js").ClientStatus[]} */
export const clients = [
  { name: "claude-code", title: "Claude Code", found: true, state: "connected", detail: null, files: ["/home/ann/.claude.json"] },
  { name: "cursor", title: "Cursor", found: true, state: "not_connected", detail: null, files: ["/home/ann/.cursor/mcp.json"] },
  { name: "codex", title: "Codex", found: true, state: "differs", detail: "/opt/old/deskhand mcp start", files: ["/home/ann/.codex/config.toml"] },
  { name: "zed", title: "Zed", found: true, state: "unreadable", detail: "a comma is missing at line 12, column 3", files: ["/home/ann/.config/zed/settings.json"] },
  { name: "goose", title: "Goose", found: false, state: "not_connected", detail: null, files: ["/home/ann/.config/goose/config.yaml"] },
];

/** @type {import("../bridge.js").ClientPlan} */
export const plan = {
  id: 7,
  files: [
    {
      path: "/home/ann/.cursor/mcp.json",
      creates: false,
      diff: '@@ -1,5 +1,9 @@\n {\n   "mcpServers": {\n+    "deskhand": {\n+      "command": "/usr/bin/deskhand",\n+      "args": ["mcp", "start", "--client", "cursor"]\n+    },\n     "other": { "command": "other" }\n   }\n }',
    },
  ],
  notes: ["A token for Cursor is made in the state folder."],
  done: false,
};

/** @type {import("../bridge.js").Check[]} */
export const checks = [
  { name: "display", ok: true, found: "1920x1080, 1 monitor(s)", mend: null },
  { name: "capture", ok: true, found: "a picture of 1920x1080 in 3.1 ms", mend: null },
  { name: "pointer", ok: true, found: "moved from 640,400 and back", mend: null },
  { name: "reading", ok: false, found: "no model and no Tesseract is installed", mend: "sudo apt-get install tesseract-ocr tesseract-ocr-eng" },
];
