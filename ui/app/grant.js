/**
 * What the person is about to allow: which groups, for how long, for whom. The control page and the question
 * "Authorize AI control?" ask it in the same words.
 * @import { GroupInfo, Snapshot } from "../bridge.js"
 * @import { Desk } from "./desk.js"
 * @import { Child } from "./dom.js"
 */

import { h } from "./dom.js";
import { groupMeaning, groupName } from "./names.js";
import { choice, section, tick } from "./parts.js";

export class Grant {
  /** @type {number | null} */
  minutes = 15;
  everybody = true;
  /** Chosen callers by identity. @type {Set<string>} */
  callers = new Set();
  /** Groups whose tick the person changed from what it was at first. @type {Map<string, boolean>} */
  #changed = new Map();

  /** @param {(group: GroupInfo) => boolean} first whether a group is ticked at first */
  constructor(first) {
    this.first = first;
  }

  /** @param {GroupInfo} group */
  has(group) {
    return group.enabled && (this.#changed.get(group.name) ?? this.first(group));
  }

  /** @param {string} group @param {boolean} on */
  set(group, on) {
    this.#changed.set(group, on);
  }

  /** Those of the chosen callers that are still there. @param {Snapshot} snapshot */
  #chosen(snapshot) {
    return snapshot.callers.map((caller) => caller.id).filter((id) => this.callers.has(id));
  }

  /** Whether it allows anything to anybody. @param {Snapshot} snapshot */
  empty(snapshot) {
    return !snapshot.groups.some((group) => this.has(group)) || (!this.everybody && this.#chosen(snapshot).length === 0);
  }

  /** As the app takes it. @param {Snapshot} snapshot */
  order(snapshot) {
    return {
      groups: snapshot.groups.filter((group) => this.has(group)).map((group) => group.name),
      minutes: this.minutes,
      callers: this.everybody ? null : this.#chosen(snapshot),
    };
  }

  /** @param {Desk} desk @returns {Child} */
  duration(desk) {
    const t = desk.t;
    const times = /** @type {const} */ ([
      ["15", "minutes.15"],
      ["60", "minutes.60"],
      ["none", "minutes.none"],
    ]);
    return choice({
      name: "minutes",
      legend: t("grant.howLong"),
      options: times.map(([value, word]) => ({ id: `minutes-${value}`, label: t(word), value })),
      value: this.minutes === null ? "none" : String(this.minutes),
      choose: (value) => {
        this.minutes = value === "none" ? null : Number(value);
        desk.refresh();
      },
    });
  }

  /** @param {Desk} desk @returns {Child} */
  groups(desk) {
    const t = desk.t;
    const row = (/** @type {GroupInfo} */ group) =>
      tick({
        id: `group-${group.name}`,
        label: groupName(t, group.name),
        meaning: group.enabled ? groupMeaning(t, group) : t("sentences", { first: groupMeaning(t, group), second: t("grant.groupOff") }),
        checked: this.has(group),
        off: !group.enabled,
        change: (on) => {
          this.set(group.name, on);
          desk.refresh();
        },
      });
    return section("what", t("grant.what"), h("div", { class: "box columns" }, desk.snapshot.groups.map(row)));
  }

  /** @param {Desk} desk @returns {Child} */
  whom(desk) {
    const { t, snapshot } = desk;
    const choose = (/** @type {string} */ value) => {
      this.everybody = value === "everybody";
      desk.refresh();
    };
    const row = (/** @type {Snapshot["callers"][number]} */ caller) =>
      tick({
        id: `caller-${caller.id}`,
        label: caller.name,
        meaning: t(`caller.${caller.kind}`),
        checked: this.callers.has(caller.id),
        change: (on) => {
          if (on) this.callers.add(caller.id);
          else this.callers.delete(caller.id);
          desk.refresh();
        },
      });
    return section(
      "whom",
      t("grant.whom"),
      choice({
        name: "whom",
        legend: t("grant.whom"),
        hiddenLegend: true,
        options: [
          { id: "for-everybody", label: t("grant.everybody"), value: "everybody" },
          { id: "for-chosen", label: t("grant.chosen"), value: "chosen" },
        ],
        value: this.everybody ? "everybody" : "chosen",
        choose,
      }),
      this.everybody ? null : h("div", { class: "box columns" }, snapshot.callers.map(row)),
    );
  }
}
