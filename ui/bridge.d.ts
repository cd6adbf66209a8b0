/**
 * What passes between the pages and the app: the whole list. Pages get state and give orders; they hold no token, read no
 * file and reach no network. Commands are called by `window.__TAURI__.core.invoke(name, arguments)`, events come by
 * `window.__TAURI__.event.listen(name, handler)`. Times are milliseconds since 1970 (UTC).
 */

export type Language = "en" | "zh-CN";

/** Everything a page shows, sent whole by the event `snapshot` after every change. */
export interface Snapshot {
  version: string;
  /** The person's choice, or the system's language. */
  language: Language;
  firstRun: boolean;
  /** Why the worker does not run, or what of it does not work, in plain words with the next step; null when all is well. */
  problem: string | null;
  control: Control;
  /** The call that runs now, if one does. */
  acting: { caller: string; callerName: string; tool: string } | null;
  /** The one question on the screen; others wait behind it. */
  question: Question | null;
  groups: GroupInfo[];
  callers: CallerInfo[];
  standing: Standing[];
  folders: FolderInfo[];
  browser: BrowserState;
  gateway: GatewayState;
  settings: Settings;
  /** Whether a tray shows our icon; without one the window is all there is. */
  tray: boolean;
}

export interface Control {
  state: "off" | "authorised" | "paused";
  /** Why it is off or paused, as the app says it (English; the page translates the reasons it knows by `reason`). */
  why: string | null;
  reason: "start" | "time" | "stop_key" | "stop" | "lock" | "sign_out" | "takeover" | "person" | "other" | null;
  groups: string[];
  /** Identities of the callers it holds for; null for every caller. */
  callers: string[] | null;
  /** When it ends by itself; null until stopped. */
  until: number | null;
}

export interface Question {
  id: number;
  kind: "authorize" | "group";
  group: string | null;
  caller: string;
  callerName: string;
  /** The program at the other end of the socket, where the system tells. */
  program: string | null;
  tool: string;
  toolSummary: string;
  /** The arguments as JSON, private texts as their length only. */
  arguments: string;
  /** How many other questions wait. */
  waiting: number;
  /** When it is taken back and counts as refused once. */
  expires: number;
}

export interface GroupInfo {
  name: string;
  /** What it lets an agent do, English; pages have their own words by name and fall back to this. */
  meaning: string;
  enabled: boolean;
  tools: { name: string; summary: string; changes: boolean }[];
}

export interface CallerInfo {
  id: string;
  kind: "main" | "client" | "gateway";
  name: string;
  /** When it last called since the app started; null if it did not. */
  lastSeen: number | null;
}

export interface Standing {
  caller: string;
  callerName: string;
  group: string;
  allowed: boolean;
}

export interface FolderInfo {
  path: string;
  warning: null | "missing" | "root" | "home" | "secrets" | "system";
}

export interface BrowserState {
  choice: "auto" | "managed" | "extension";
  pairing: { code: string; address: string; expires: number } | null;
  paired: { id: string; name: string; connected: boolean; preferred: boolean }[];
  /** Folder of the unpacked extension, if it is installed beside the app. */
  extensionFolder: string | null;
}

export interface GatewayState {
  state: "signed_out" | "off" | "connecting" | "connected" | "partly" | "replaced";
  server: string | null;
  user: string | null;
  since: number | null;
  lastError: string | null;
}

export interface Settings {
  language: "system" | Language;
  port: number;
  stopKey: string;
  takeover: boolean;
  startAtLogin: boolean;
  browser: "auto" | "managed" | "extension";
  ocr: "auto" | "pp" | "tesseract";
  /** Languages that the screen reader can read now (read only). */
  ocrLanguages: string[];
  blockOrigins: string[];
  dataFolder: string;
  /** A change takes effect at the next start. */
  restartNeeded: boolean;
}

export interface ClientStatus {
  name: string;
  title: string;
  found: boolean;
  state: "not_connected" | "connected" | "revoked" | "differs" | "unreadable";
  /** What it starts now (differs), or why it cannot be read (unreadable). */
  detail: string | null;
  files: string[];
}

export interface ClientPlan {
  /** Given back to `client_apply`; a plan holds for the files as they were. */
  id: number;
  files: { path: string; creates: boolean; diff: string }[];
  notes: string[];
  done: boolean;
}

export interface ActivityEntry {
  seq: number;
  start: number;
  end: number | null;
  caller: string;
  callerName: string;
  tool: string;
  groups: string[];
  /** Where, for pointer tools: "640, 400"; the page's address for browser tools if it is recorded. */
  where: string | null;
  /** "running", "ok", "partly", or the kind of error. */
  result: string;
  text: string | null;
  arguments: string;
  /** data: URL of a small picture around a click, from memory; null when there is none (any more). */
  picture: string | null;
}

export interface Check {
  name: string;
  ok: boolean;
  found: string;
  /** The one command that mends it. */
  mend: string | null;
}

/** Every command: arguments and answer. A refusal or failure rejects with a sentence for the person. */
export interface Commands {
  snapshot(): Snapshot;
  authorize(a: { groups: string[]; minutes: number | null; callers: string[] | null }): void;
  extend(a: { minutes: number }): void;
  pause(): void;
  resume(): void;
  stop(): void;
  /** `authorize` answers a question of that kind and carries the grant. */
  answer(a: {
    id: number;
    answer: "once" | "session" | "always" | "refuse" | "authorize";
    grant: { groups: string[]; minutes: number | null; callers: string[] | null } | null;
  }): void;
  set_group(a: { group: string; enabled: boolean }): void;
  forget_standing(a: { caller: string; group: string }): void;
  /** The system's own dialog; null when the person cancelled. */
  choose_folder(): string | null;
  examine_folder(a: { path: string }): FolderInfo;
  add_folder(a: { path: string }): void;
  remove_folder(a: { path: string }): void;
  clients(): ClientStatus[];
  client_plan(a: { client: string; action: "install" | "uninstall" }): ClientPlan;
  /** Does exactly the plan; answers what the person does next. */
  client_apply(a: { plan: number }): string;
  start_pairing(): void;
  stop_pairing(): void;
  rename_browser(a: { id: string; name: string }): void;
  prefer_browser(a: { id: string | null }): void;
  revoke_browser(a: { id: string }): void;
  /** Opens the page of the person's browser where extensions are loaded. */
  open_extension_page(): void;
  /** Newest first; those whose `seq` is below `before`. */
  activity(a: { before: number | null; limit: number; filter: string }): { entries: ActivityEntry[]; more: boolean };
  /** The sentence of `deskhand audit verify`. */
  verify_activity(): string;
  /** Where it was saved; null when the person cancelled. */
  export_activity(): string | null;
  clear_activity(): void;
  set_settings(a: { settings: Partial<Settings> }): void;
  reset_settings(): void;
  sign_in(a: { server: string; user: string; password: string; acceptPlain: boolean }): void;
  sign_out(): void;
  reconnect_gateway(): void;
  examine(): Check[];
  finish_first_run(): void;
  quit(): void;
}

/** Events from the app. */
export interface Events {
  snapshot: Snapshot;
  activity: ActivityEntry;
  /** The page to show. */
  page: "control" | "permissions" | "activity" | "connect" | "browser" | "gateway" | "settings" | "first-run";
}
