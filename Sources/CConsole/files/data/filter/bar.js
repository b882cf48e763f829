/** The filter above the rows: a chip for each condition, and the whole as JSON. The editor of a condition is loaded on demand. */

import { h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { effect } from "../../core/signal.js";
import { plain, shown } from "../../core/text.js";
import { t } from "../../core/words.js";
import { namesChanged } from "../names.js";
import { classes } from "../schema.js";
import { fromWhere, toWhere } from "./model.js";
import { groupSentence } from "./sentence.js";

/** The bar of a page with `{ className, where, change(next) }`. */
export function filterBar(page) {
  const element = h(".filters", { role: "group", "aria-label": t("filter.add") });
  const fieldOf = (name, className = page.className) => classes.peek()?.get(className)?.fields.get(name);
  const groups = fromWhere(page.where, fieldOf);
  const typeOfField = (name) => fieldOf(name)?.type;
  const apply = (next) => page.change({ where: toWhere(next) });
  const edit = async (anchor, index, start) => (await import("./editor.js")).editGroup({ anchor, className: page.className, group: groups[index], start, done: (group) => apply(index === undefined ? [...groups, group] : groups.map((other, place) => (place === index ? group : other))) });
  const chip = (group, index) => h("span.chip", { title: group.json ? plain(JSON.stringify(group.json), 500) : null },
    index > 0 ? h("span.sr", t("filter.and")) : null,
    h("button", { type: "button", title: t("filter.edit"), onclick: (event) => (group.json ? showJSON() : edit(event.currentTarget.parentElement, index)) },
      shown(groupSentence(group, typeOfField), 90)),
    h("button", { type: "button", "aria-label": t("filter.remove"), onclick: () => apply(groups.filter((_, place) => place !== index)) }, icon("close")));
  const showJSON = async () => (await import("./json.js")).openJSON(page, element, draw);
  const draw = () => {
    const add = h("button.plain.add", { type: "button", onclick: (event) => edit(event.currentTarget) }, icon("filter"), t("filter.add"));
    page.addCondition = (field) => edit(add, undefined, field);
    page.addGroup = (group) => apply([...groups, group]);
    put(element, groups.length > 0 && h("span.quiet", t("filter.where")), groups.map(chip), add,
      groups.length > 0 && h("button.plain", { type: "button", onclick: showJSON }, icon("code"), t("filter.json")),
      groups.length > 0 && h("button.plain", { type: "button", onclick: async () => (await import("./save-view.js")).saveView(page) }, icon("bookmark"), t("filter.save")));
  };
  effect(() => {
    namesChanged();
    if (!element.querySelector("textarea") && !element.contains(document.activeElement)) draw();
  }, page.scope);
  return element;
}
