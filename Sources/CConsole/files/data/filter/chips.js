/** A chip for each condition of a filter, and ways to change it: by sentences or as JSON. */

import { button, h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { mayWrite } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { plain, shown } from "../../core/text.js";
import { t } from "../../core/words.js";
import { namesChanged } from "../names.js";
import { classes } from "../schema.js";
import { fromWhere, toWhere } from "./model.js";
import { groupSentence } from "./sentence.js";

const fieldOf = (page) => (name, className = page.className) => classes.peek()?.get(className)?.fields.get(name);
const groupsOf = (page) => fromWhere(page.where, fieldOf(page));
const apply = (page, groups) => page.change({ where: toWhere(groups) });

/** Opens the editor of a new condition. */
export async function addCondition(page, anchor, field) {
  const { editGroup } = await import("./editor.js");
  editGroup({ anchor, className: page.className, start: field, done: (group) => addGroup(page, group) });
}

/** Adds a group to the filter. */
export const addGroup = (page, group) => apply(page, [...groupsOf(page), group]);

/** Fills the bar. */
export function drawChips(page, element) {
  const groups = groupsOf(page);
  const typeOfField = (name) => fieldOf(page)(name)?.type;
  const edit = async (anchor, index) => (await import("./editor.js")).editGroup({
    anchor, className: page.className, group: groups[index], done: (group) => apply(page, groups.map((other, place) => (place === index ? group : other))),
  });
  const showJSON = async () => (await import("./json.js")).openJSON(page, element, draw);
  const chip = (group, index) => h("span.chip", { title: group.json ? plain(JSON.stringify(group.json), 500) : null },
    index > 0 && h("span.sr", t("filter.and")),
    h("button", { type: "button", title: t("filter.edit"), onclick: (event) => (group.json ? showJSON() : edit(event.currentTarget.parentElement, index)) },
      shown(groupSentence(group, typeOfField), 90)),
    h("button", { type: "button", "aria-label": t("filter.remove"), onclick: () => apply(page, groups.filter((_, place) => place !== index)) }, icon("close")));
  const draw = () => put(element, h("span.quiet", t("filter.where")), groups.map(chip),
    button(".plain.add", (event) => page.addCondition(undefined, event.currentTarget), icon("filter"), t("filter.add")),
    button(".plain", showJSON, icon("code"), t("filter.json")),
    mayWrite() && button(".plain", async () => (await import("./save-view.js")).saveView(page), icon("bookmark"), t("filter.save")));
  effect(() => {
    namesChanged();
    if (!element.querySelector("textarea") && !element.contains(document.activeElement)) draw();
  }, page.scope);
}
