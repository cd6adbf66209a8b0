/**
 * An app that is not there: it answers the pages' orders by changing a snapshot, so that pages can be looked at in a browser
 * and tested. Only tests serve it; no page that ships knows of it.
 * @import { Commands, Events, Snapshot } from "../bridge.js"
 */

import { checks, clients, entries, plan, snapshot } from "./state.js";

/**
 * @typedef {object} Fake
 * @property {Snapshot} snapshot
 * @property {[string, any][]} orders every order that came, oldest first
 * @property {Map<string, string>} refusals orders that fail, with the sentence they fail with
 * @property {(change: (snapshot: Snapshot) => void) => void} change changes the state and tells the pages
 * @property {<N extends keyof Events>(name: N, payload: Events[N]) => void} send
 */

/** Puts the app into a window. @param {any} window @param {(snapshot: Snapshot, fake: Fake) => void} [first] @returns {Fake} */
export function install(window, first = () => {}) {
  /** @type {Map<string, Set<(event: { payload: unknown }) => void>>} */
  const heard = new Map();
  /** @type {Fake} */
  const fake = {
    snapshot: snapshot(Date.now()),
    orders: [],
    refusals: new Map(),
    change(change) {
      change(fake.snapshot);
      fake.send("snapshot", fake.snapshot);
    },
    send(name, payload) {
      const copy = structuredClone(payload);
      for (const handler of heard.get(name) ?? []) handler({ payload: copy });
    },
  };
  first(fake.snapshot, fake);
  window.__TAURI__ = {
    core: {
      async invoke(/** @type {keyof Commands} */ name, /** @type {any} */ args) {
        if (name !== "snapshot") fake.orders.push([name, structuredClone(args)]);
        const refusal = fake.refusals.get(name);
        if (refusal) throw refusal;
        return structuredClone(answer(fake, name, args));
      },
    },
    event: {
      async listen(/** @type {string} */ name, /** @type {(event: { payload: unknown }) => void} */ handler) {
        const all = heard.get(name) ?? new Set();
        heard.set(name, all.add(handler));
        return () => all.delete(handler);
      },
    },
  };
  return fake;
}

/**
 * @param {Fake} fake
 * @param {keyof Commands} name
 * @param {any} args
 * @returns {unknown}
 */
function answer(fake, name, args) {
  const now = Date.now();
  const { change } = fake;
  /** @type {{ [name in keyof Commands]?: () => unknown }} */
  const answers = {
    snapshot: () => fake.snapshot,
    authorize: () => change((s) => (s.control = { state: "authorised", why: null, reason: null, groups: args.groups, callers: args.callers, until: args.minutes === null ? null : now + args.minutes * 60_000 })),
    extend: () => change((s) => (s.control.until = (s.control.until ?? now) + args.minutes * 60_000)),
    pause: () => change((s) => Object.assign(s.control, { state: "paused", reason: "person" })),
    resume: () => change((s) => Object.assign(s.control, { state: "authorised", reason: null })),
    stop: () => change((s) => Object.assign(s, { control: { state: "off", why: null, reason: "stop", groups: [], callers: null, until: null }, acting: null })),
    answer: () => change((s) => (s.question = null)),
    set_group: () => change((s) => s.groups.filter((g) => g.name === args.group).forEach((g) => (g.enabled = args.enabled))),
    forget_standing: () => change((s) => (s.standing = s.standing.filter((one) => one.caller !== args.caller || one.group !== args.group))),
    choose_folder: () => "/home/ann/.ssh",
    examine_folder: () => ({ path: args.path, warning: args.path.endsWith(".ssh") ? "secrets" : null }),
    add_folder: () => change((s) => s.folders.push({ path: args.path, warning: args.path.endsWith(".ssh") ? "secrets" : null })),
    remove_folder: () => change((s) => (s.folders = s.folders.filter((one) => one.path !== args.path))),
    clients: () => clients,
    client_plan: () => plan,
    client_apply: () => "Switch deskhand on in Cursor's settings under MCP if it is off.",
    start_pairing: () => change((s) => (s.browser.pairing = { code: "KXQ7-M2RD", address: "127.0.0.1:47800", expires: now + 120_000 })),
    stop_pairing: () => change((s) => (s.browser.pairing = null)),
    rename_browser: () => change((s) => s.browser.paired.filter((b) => b.id === args.id).forEach((b) => (b.name = args.name))),
    prefer_browser: () => change((s) => s.browser.paired.forEach((b) => (b.preferred = b.id === args.id))),
    revoke_browser: () => change((s) => (s.browser.paired = s.browser.paired.filter((b) => b.id !== args.id))),
    activity: () => ({ entries: entries(now).filter((e) => (args.before === null || e.seq < args.before) && JSON.stringify(e).includes(args.filter)), more: args.before === null && args.filter === "" }),
    verify_activity: () => "/home/ann/.local/state/deskhand/audit.jsonl: 1204 lines hold",
    export_activity: () => "/home/ann/deskhand-activity.jsonl",
    set_settings: () => change((s) => Object.assign(s.settings, args.settings, { restartNeeded: "port" in args.settings || s.settings.restartNeeded })),
    sign_in: () => change((s) => (s.gateway = { state: "connecting", server: args.server, user: args.user, since: now, lastError: null })),
    sign_out: () => change((s) => (s.gateway = { state: "signed_out", server: null, user: null, since: null, lastError: null })),
    examine: () => checks,
    finish_first_run: () => change((s) => (s.firstRun = false)),
  };
  return answers[name]?.() ?? null;
}
