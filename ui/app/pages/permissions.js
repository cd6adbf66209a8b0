/**
 * What agents may ever be allowed: groups in plain words, the folders that file tools may use, and what the person has said
 * once for always.
 * @import { FolderInfo, GroupInfo } from "../../bridge.js"
 * @import { Desk } from "../desk.js"
 * @import { Child } from "../dom.js"
 */

import { h } from "../dom.js";
import { icon } from "../icons.js";
import { groupMeaning, groupName, toolName } from "../names.js";
import { button, confirmed, remark, section, tick } from "../parts.js";

/** @returns {import("../main.js").Page} */
export function permissions() {
  /** A folder that was chosen and needs a second thought. @type {FolderInfo | null} */
  let doubtful = null;
  /** @param {Desk} desk @param {FolderInfo | null} folder */
  const doubt = (desk, folder) => {
    doubtful = folder;
    desk.focus = folder ? "folder-keep" : "add-folder";
    desk.refresh();
  };
  return {
    view: (desk) => [groups(desk), folders(desk, doubtful, (folder) => doubt(desk, folder)), standing(desk)],
    closed() {
      doubtful = null;
    },
  };
}

/** @param {Desk} desk @returns {Child} */
function groups(desk) {
  const t = desk.t;
  const change = (/** @type {GroupInfo} */ group, /** @type {boolean} */ enabled) =>
    desk.order(`allow-${group.name}`, () => desk.bridge.call("set_group", { group: group.name, enabled }));
  const row = (/** @type {GroupInfo} */ group) =>
    h(
      "div",
      { class: "entry", key: group.name },
      tick({
        id: `allow-${group.name}`,
        label: groupName(t, group.name),
        meaning: groupMeaning(t, group),
        checked: group.enabled,
        toggle: true,
        change: (enabled) => change(group, enabled),
      }),
      t.find(`risk.${group.name}`) ? h("p", { class: "risk" }, icon("warning"), h("span", null, t.find(`risk.${group.name}`))) : null,
      desk.told(`allow-${group.name}`),
      group.tools.length === 0
        ? null
        : h(
            "details",
            { id: `tools-${group.name}` },
            h("summary", null, icon("more"), t("permissions.tools", { n: group.tools.length })),
            h(
              "ul",
              { class: "tools" },
              group.tools.map((tool) =>
                h(
                  "li",
                  { key: tool.name },
                  h("span", null, toolName(t, tool.name)),
                  h("span", { class: tool.changes ? "badge changes" : "badge" }, t(tool.changes ? "permissions.changes" : "permissions.reads")),
                  h("code", { title: tool.summary }, tool.name),
                ),
              ),
            ),
          ),
    );
  return section("groups", t("permissions.groups"), h("p", { class: "hint" }, t("permissions.groupsHint")), h("div", { class: "box" }, desk.snapshot.groups.map(row)));
}

/**
 * @param {Desk} desk
 * @param {FolderInfo | null} doubtful
 * @param {(folder: FolderInfo | null) => void} doubt
 * @returns {Child}
 */
function folders(desk, doubtful, doubt) {
  const { t, snapshot } = desk;
  const add = () =>
    desk.order("folders", async () => {
      const path = await desk.bridge.call("choose_folder");
      if (path === null) return;
      const folder = await desk.bridge.call("examine_folder", { path });
      if (folder.warning === null) await desk.bridge.call("add_folder", { path: folder.path });
      else doubt(folder);
    });
  const addAnyway = () => {
    const folder = /** @type {FolderInfo} */ (doubtful);
    doubt(null);
    desk.order("folders", () => desk.bridge.call("add_folder", { path: folder.path }));
  };
  const row = (/** @type {FolderInfo} */ folder, /** @type {number} */ n) =>
    h(
      "li",
      { key: folder.path },
      icon("folder"),
      h("div", { class: "words" }, h("span", { class: "path" }, folder.path), folder.warning ? h("span", { class: "risk" }, icon("warning"), t(`folder.${folder.warning}`)) : null),
      button(desk, {
        id: `remove-folder-${n}`,
        label: t("permissions.removeFolder"),
        kind: "quiet",
        press: () => desk.order("folders", () => desk.bridge.call("remove_folder", { path: folder.path })),
        more: { "aria-label": t("permissions.removeFolderNamed", { path: folder.path }) },
      }),
    );
  const question = doubtful
    ? remark(
        doubtful.warning === "missing" ? "info" : "danger",
        h("p", { class: "path" }, doubtful.path),
        h("p", null, doubtful.warning ? t(`folder.${doubtful.warning}`) : null),
        h(
          "div",
          { class: "buttons" },
          button(desk, { id: "folder-keep", label: t("permissions.notThis"), press: () => doubt(null) }),
          doubtful.warning === "missing" ? null : button(desk, { id: "folder-anyway", label: t("permissions.addAnyway"), kind: "danger", press: addAnyway }),
        ),
      )
    : null;
  return section(
    "folders",
    t("permissions.folders"),
    h("p", { class: "hint" }, t("permissions.foldersHint")),
    snapshot.folders.length ? h("ul", { class: "box list" }, snapshot.folders.map(row)) : h("p", { class: "box empty" }, t("permissions.noFolder")),
    question,
    h("div", { class: "buttons" }, button(desk, { id: "add-folder", label: t("permissions.addFolder"), order: "folders", press: add })),
    desk.told("folders"),
  );
}

/** @param {Desk} desk @returns {Child} */
function standing(desk) {
  const { t, snapshot } = desk;
  const row = (/** @type {import("../../bridge.js").Standing} */ one) => {
    const id = `forget-${one.caller}-${one.group}`;
    return h(
      "li",
      { key: id },
      h(
        "div",
        { class: "words" },
        h("strong", null, one.callerName),
        h("span", { class: "meaning" }, t(one.allowed ? "permissions.always" : "permissions.never", { group: groupName(t, one.group) })),
        desk.told(id),
      ),
      confirmed(desk, {
        id,
        label: t("permissions.forget"),
        question: t(one.allowed ? "permissions.forgetAllowed" : "permissions.forgetRefused"),
        yes: t("permissions.forget"),
        kind: "quiet",
        work: () => desk.bridge.call("forget_standing", { caller: one.caller, group: one.group }),
      }),
    );
  };
  return section(
    "standing",
    t("permissions.standing"),
    h("p", { class: "hint" }, t("permissions.standingHint")),
    snapshot.standing.length ? h("ul", { class: "box list" }, snapshot.standing.map(row)) : h("p", { class: "box empty" }, t("permissions.noStanding")),
  );
}
