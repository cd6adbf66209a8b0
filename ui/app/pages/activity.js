/**
 * What was done: the newest first, growing while it happens. It is read from the journal in parts; what is happening now
 * comes by events.
 * @import { ActivityEntry } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { groupName, inJournal, resultName, toolName } from "../names.js";
import { button, confirmed, field } from "../parts.js";
import { laidOut, visible } from "../shown.js";
import { clock, day, took } from "../time.js";

/** Entries a part has. */
const PART = 50;
/** Entries that are kept on the page while it grows by events. */
const MOST = 500;

class Timeline {
  /** Newest first. @type {ActivityEntry[]} */
  entries = [];
  more = false;
  filter = "";
  /** Counts readings, so that a late answer to an older filter is dropped. */
  #reading = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #soon;

  /**
   * A part of what matches, without a gap: where one of the names has more, nothing older than what is known of it is kept.
   * @param {Desk} desk
   * @param {number | null} before
   */
  async #part(desk, before) {
    const names = inJournal(desk.t, this.filter);
    const parts = await Promise.all(names.map((filter) => desk.bridge.call("activity", { before, limit: PART, filter })));
    const full = parts.filter((part) => part.more);
    const floor = Math.max(...full.map((part) => part.entries.at(-1)?.seq ?? 0), 0);
    const all = new Map(parts.flatMap((part) => part.entries).map((entry) => [entry.seq, entry]));
    const entries = [...all.values()].filter((entry) => entry.seq >= floor).sort((a, b) => b.seq - a.seq);
    return { entries, more: full.length > 0 };
  }

  /** Reads the newest part. @param {Desk} desk */
  async read(desk) {
    const reading = ++this.#reading;
    await desk.order(`timeline-${reading}`, async () => {
      const { entries, more } = await this.#part(desk, null);
      if (reading !== this.#reading) return;
      [this.entries, this.more] = [entries, more];
    });
  }

  /** Where the newest reading tells what went wrong. */
  get place() {
    return `timeline-${this.#reading}`;
  }

  /** @param {Desk} desk */
  async readOlder(desk) {
    const last = this.entries.at(-1);
    const reading = this.#reading;
    if (!last) return;
    await desk.order("older", async () => {
      const { entries, more } = await this.#part(desk, last.seq);
      if (reading !== this.#reading) return;
      this.entries = [...this.entries, ...entries.filter((entry) => entry.seq < last.seq)];
      this.more = more;
    });
  }

  /** Takes in what has just happened. @param {Desk} desk @param {ActivityEntry} entry */
  take(desk, entry) {
    // Only the app knows what a filter means, so with one the part is read anew.
    if (this.filter !== "") return this.readSoon(desk);
    const last = this.entries.at(-1);
    // It belongs to a part that has not been read.
    if (this.more && last && entry.seq < last.seq) return;
    const at = this.entries.findIndex((one) => one.seq <= entry.seq);
    if (at >= 0 && this.entries[at]?.seq === entry.seq) this.entries[at] = entry;
    else this.entries.splice(at < 0 ? this.entries.length : at, 0, entry);
    if (this.entries.length > MOST) {
      this.entries.length = MOST;
      this.more = true;
    }
    desk.refresh();
  }

  /** @param {Desk} desk */
  readSoon(desk) {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.read(desk), 250);
  }

  forget() {
    clearTimeout(this.#soon);
    this.#reading++;
  }
}

/** @returns {import("../main.js").Page} */
export function activity() {
  const timeline = new Timeline();
  return {
    opened: (desk) => void timeline.read(desk),
    closed: () => timeline.forget(),
    happened: (desk, entry) => timeline.take(desk, entry),
    view: (desk) => [tools(desk, timeline), desk.told(timeline.place), list(desk, timeline)],
  };
}

/** @param {Desk} desk @param {Timeline} timeline @returns {Child} */
function tools(desk, timeline) {
  const t = desk.t;
  const filtered = (/** @type {any} */ event) => {
    timeline.filter = event.target.value.trim();
    timeline.readSoon(desk);
  };
  // The app rejects when the record does not hold.
  const verify = async () => t("sentences", { first: t("activity.verified"), second: `(${await desk.bridge.call("verify_activity")})` });
  return [
    h(
      "div",
      { class: "toolbar", role: "group", "aria-label": t("activity.tools") },
      field({
        id: "filter",
        label: t("activity.filter"),
        props: { type: "search", placeholder: t("activity.filterHint"), autocomplete: "off", spellcheck: "false", on: { input: filtered } },
      }),
      h(
        "div",
        { class: "buttons" },
        button(desk, { id: "verify", label: t("activity.verify"), order: "verify", press: () => desk.order("verify", verify) }),
        button(desk, {
          id: "export",
          label: t("activity.export"),
          order: "export",
          press: () =>
            desk.order("export", async () => {
              const path = await desk.bridge.call("export_activity");
              return path === null ? null : t("activity.exported", { path });
            }),
        }),
        confirmed(desk, {
          id: "clear",
          label: t("activity.clear"),
          question: t("activity.clearReally"),
          yes: t("activity.clear"),
          work: async () => {
            await desk.bridge.call("clear_activity");
            await timeline.read(desk);
            return t("activity.cleared");
          },
        }),
      ),
    ),
    desk.told("verify"),
    desk.told("export"),
    desk.told("clear"),
  ];
}

/** @param {Desk} desk @param {Timeline} timeline @returns {Child} */
function list(desk, timeline) {
  const t = desk.t;
  if (timeline.entries.length === 0) {
    if (desk.busy(timeline.place)) return h("p", { class: "hint" }, t("activity.reading"));
    return h("p", { class: "box empty", id: "no-activity" }, t(timeline.filter ? "activity.noMatch" : "activity.none"));
  }
  /** @type {Map<string, ActivityEntry[]>} */
  const days = new Map();
  for (const entry of timeline.entries) {
    const name = day(t, entry.start, desk.now);
    days.set(name, [...(days.get(name) ?? []), entry]);
  }
  return [
    [...days].map(([name, entries]) =>
      h("section", { key: name, class: "day", "aria-label": name }, h("h2", null, name), h("ol", { class: "box timeline" }, entries.map((entry) => row(desk, entry)))),
    ),
    timeline.more
      ? h("div", { class: "buttons" }, button(desk, { id: "older", label: t("activity.older"), order: "older", press: () => void timeline.readOlder(desk) }))
      : null,
    desk.told("older"),
  ];
}

/** How a result looks: done, half done, under way, or not done. @param {string} result */
function look(result) {
  if (result === "ok") return "good";
  if (result === "partly") return "half";
  return result === "running" ? "running" : "bad";
}

/** @param {Desk} desk @param {ActivityEntry} entry @returns {Child} */
function row(desk, entry) {
  const t = desk.t;
  const kind = look(entry.result);
  return h(
    "li",
    { key: String(entry.seq), class: "event", "data-seq": entry.seq, "data-result": entry.result },
    h("time", { datetime: new Date(entry.start).toISOString() }, clock(t, entry.start, true)),
    h(
      "div",
      { class: "words" },
      h("p", { class: "did" }, h("strong", null, toolName(t, entry.tool)), entry.where ? h("span", { class: "where" }, visible(entry.where)) : null),
      h(
        "p",
        { class: "by" },
        h("span", { class: `result ${kind}` }, kind === "good" ? icon("tick") : kind === "bad" ? icon("cross") : null, resultName(t, entry.result)),
        h("span", null, visible(entry.callerName)),
        entry.end === null ? null : h("span", null, took(t, entry.end - entry.start)),
      ),
      entry.text && kind !== "good" ? h("p", { class: "said" }, visible(entry.text)) : null,
      h(
        "details",
        null,
        h("summary", null, icon("more"), t("activity.details")),
        h(
          "dl",
          null,
          pair(t("activity.tool"), h("code", null, entry.tool)),
          pair(t("activity.groups"), entry.groups.map((group) => groupName(t, group)).join(t("list.separator"))),
          entry.text && kind === "good" ? pair(t("activity.text"), visible(entry.text)) : null,
          pair(t("activity.arguments"), h("pre", { tabindex: "0", "aria-label": t("activity.arguments") }, laidOut(entry.arguments))),
          pair(t("activity.number"), String(entry.seq)),
        ),
      ),
    ),
    entry.picture?.startsWith("data:image/") ? h("img", { class: "picture", src: entry.picture, alt: t("activity.picture", { where: entry.where ?? "" }) }) : null,
  );
}

/** @param {string} name @param {Child} value @returns {Child} */
function pair(name, value) {
  return [h("dt", null, name), h("dd", null, value)];
}
