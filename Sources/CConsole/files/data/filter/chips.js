/** A chip for each condition of a filter, and ways to change it: by sentences or as JSON. */

import { button, h, icon, labelled, problemLine, put, textField } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { openForm } from "../../parts/dialog.js";
import { toast } from "../../parts/states.js";
import { classes, isShortened, keepView, namesChanged, typeOf } from "../schema.js";
import { pointer } from "../values.js";
import { fromWhere, groupSentence, OPERATORS, toWhere } from "./model.js";

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
  const showJSON = () => openJSON(page, element, draw);
  const chip = (group, index) => h("span.chip", { title: group.json ? plain(JSON.stringify(group.json), 500) : null },
    index > 0 && h("span.sr", t("filter.and")),
    h("button", { title: t("filter.edit"), onclick: (event) => (group.json ? showJSON() : edit(event.currentTarget.parentElement, index)) },
      group.json ? shown(JSON.stringify(group.json), 90) : h("bdi.text", groupSentence(group, typeOfField))),
    h("button", { "aria-label": t("filter.remove"), onclick: () => apply(page, groups.filter((_, place) => place !== index)) }, icon("close")));
  const draw = () => put(element, h("span.quiet", t("filter.where")), groups.map(chip),
    button(".plain.add", (event) => page.addCondition(undefined, event.currentTarget), icon("filter"), t("filter.add")),
    button(".plain", showJSON, icon("code"), t("filter.json")),
    !page.isAudience && mayWrite() && button(".plain", () => saveView(page), icon("bookmark"), t("filter.save")));
  effect(() => {
    namesChanged();
    if (!element.querySelector("textarea") && !element.contains(document.activeElement)) draw();
  }, page.scope);
}

/** Shows the filter as JSON; `draw` brings the sentences back. */
function openJSON(page, host, draw) {
  const text = h("textarea", { rows: 5, "aria-label": t("filter.jsonLabel"), spellcheck: "false", value: JSON.stringify(page.where, null, 2) });
  const problem = problemLine();
  const apply = () => {
    let where;
    try {
      where = JSON.parse(text.value.trim() || "{}");
      if (where === null || typeof where !== "object" || Array.isArray(where)) throw new Error(text.value.slice(0, 40));
    } catch (reason) {
      text.setAttribute("aria-invalid", "true");
      put(problem, t("filter.invalid", { reason: reason.message }));
      return;
    }
    if (JSON.stringify(where) === JSON.stringify(page.where)) draw();
    else page.change({ where });
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") draw();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) apply();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  put(host, h(".filter-json", text, problem, h(".line",
    button(".button.primary", apply, t("filter.apply")),
    button(".button", draw, t("filter.sentences")))));
  text.focus();
}

/** Asks for a name, and keeps filter, order and columns under it. */
export async function saveView(page) {
  const name = textField({ autofocus: true, value: page.view?.name ?? "", maxlength: "80" });
  const shared = h("input", { type: "checkbox", checked: page.view?.shared ?? false });
  const id = await openForm({ title: t("view.title"), button: t("save") }, () => ({
    body: [h("p.quiet", t("view.text")), labelled(t("view.name"), name), h("label.line", shared, t("view.shared"))],
    save: () => keepView({
      id: page.view?.name === name.value.trim() ? page.view.id : undefined, className: page.className, name: name.value.trim() || page.className,
      shared: shared.checked, where: page.where, order: page.order, columns: page.columns.map((column) => column.name),
    }),
  }));
  if (!id) return;
  toast(t("view.saved", { name: name.value.trim() }));
  go(address("data", [page.className], { where: JSON.stringify(page.where), order: page.order === "-createdAt" ? "" : page.order, view: id }), true);
}

/** Adds "field is value" to the filter of a page. */
export function filterByCell(page) {
  const { grid } = page;
  const field = grid.activeColumn;
  const value = grid.activeRow?.values.get(field?.name);
  const operators = OPERATORS.get(field?.type);
  if (!operators || isShortened(value)) return;
  if (value === undefined || value === null) page.addGroup([{ field: field.name, operator: "$missing" }]);
  else if (field.type === "Date") page.addGroup([{ field: field.name, operator: "$gte", value: typeof value === "string" ? { __type: "Date", iso: value } : value }]);
  else if (operators.includes("$eq") && typeOf(value)) page.addGroup([{ field: field.name, operator: "$eq", value: typeOf(value) === "Pointer" ? pointer(value.className, value.objectId) : value }]);
  else page.addCondition(field.name);
}
