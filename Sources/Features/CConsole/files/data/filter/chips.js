/** The chips of a filter's conditions, and editors for them: sentences, a panel with field, operator and value, or JSON. */

import { button, h, icon, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { openForm, openPanel } from "../../parts/dialog.js";
import { record } from "../../parts/states.js";
import { startText } from "../editors/inline.js";
import { pointerField } from "../editors/pointer.js";
import { classes, isShortened, keepView, namesChanged, ranked, typeOf } from "../schema.js";
import { asText, fromText, notOne, pointer } from "../values.js";
import { fromWhere, groupSentence, OPERATORS, operatorWord, toWhere } from "./model.js";

const fieldOf = (page) => (name, className = page.className) => classes.peek()?.get(className)?.fields.get(name);
const groupsOf = (page) => fromWhere(page.where, fieldOf(page));
const apply = (page, groups) => page.change({ where: toWhere(groups) });

export async function addCondition(page, anchor, field) {
  editGroup({ anchor, className: page.className, start: field, done: (group) => addGroup(page, group) });
}

/** Adds a group of alternative conditions to the filter. */
export const addGroup = (page, group) => apply(page, [...groupsOf(page), group]);

/** Draws the filter as one chip per group, and redraws it when names of objects arrive. */
export function drawChips(page, element) {
  const groups = groupsOf(page);
  const typeOfField = (name) => fieldOf(page)(name)?.type;
  const edit = (anchor, index) => editGroup({
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
    button(".plain", showJSON, icon("code"), t("word.json")),
    !page.isAudience && mayWrite() && button(".plain", () => saveView(page), icon("bookmark"), t("filter.save")));
  effect(() => {
    namesChanged();
    if (!element.querySelector("textarea") && !element.contains(document.activeElement)) draw();
  }, page.scope);
}

/** Shows the filter as JSON; `draw` returns to the chips. */
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

/** Asks for a name, and saves filter, order and columns as a view. */
export async function saveView(page) {
  const name = textField({ autofocus: true, value: page.view?.name ?? "", maxlength: "80" });
  const shared = h("input", { type: "checkbox", checked: page.view?.shared ?? false });
  const id = await openForm({ title: t("view.title"), button: t("save") }, () => ({
    body: [h("p.quiet", t("view.text")), labelled(t("word.name"), name), h("label.line", shared, t("view.shared"))],
    save: () => keepView({
      id: page.view?.name === name.value.trim() ? page.view.id : undefined, className: page.className, name: name.value.trim() || page.className,
      shared: shared.checked, where: page.where, order: page.order, columns: page.columns.map((column) => column.name),
    }),
  }));
  if (!id) return;
  record(t("view.saved", { name: name.value.trim() }));
  go(address("data", [page.className], { where: JSON.stringify(page.where), order: page.order === "-createdAt" ? "" : page.order, view: id }), true);
}

/** Adds "field is value" of the active cell to the filter. */
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

/** Opens the panel of a group next to an element; `done(group)` is called with the result. */
function editGroup({ anchor, className, group, start, done }) {
  const rows = [];
  const list = h("div.conditions");
  const problem = problemLine();
  const slow = h("p.quiet", { hidden: true }, t("filter.slow"));
  const changed = () => { slow.hidden = !rows.some((row) => ["contains", "ends"].includes(row.operator())); };
  const add = (condition) => {
    const row = conditionRow(className, condition, changed);
    rows.push(row);
    put(list, rows.flatMap(({ element }, index) => [index > 0 && h("span.label", t("filter.or")), element]));
    changed();
    return row;
  };
  const apply = () => {
    put(problem);
    const next = [];
    for (const row of rows) {
      try {
        next.push(row.read());
      } catch (refusal) {
        put(problem, refusal.message);
        row.focusValue();
        return;
      }
    }
    close();
    done(next);
  };
  const panel = h("form.pad.filter-editor", { onsubmit: (event) => { event.preventDefault(); apply(); } },
    list, slow, problem,
    h(".line", button(".plain", () => { add({ field: rows.at(-1).field() }).focusValue(); }, t("filter.addOr")), h(".space"),
      h("button.button.primary", { type: "submit" }, t("filter.apply"))));
  for (const condition of group ?? [{ field: start }]) add(condition);
  const close = openPanel(anchor, panel, { label: t("filter.add") });
  if (start || group) rows[0].focusValue();
}

/** Creates an element for the field, operator and value of a condition, from which they can be read. */
function conditionRow(className, { field: name, operator, value } = {}, changed = () => {}) {
  const description = classes.peek().get(className);
  const fields = ranked(description).filter(({ type }) => OPERATORS.has(type));
  const first = fields.find((field) => field.name === name) ?? fields.find((field) => field.name !== "objectId") ?? fields[0];
  const fieldChoice = h("select", { "aria-label": t("word.field") }, fields.map((field) => option(field.name, plain(field.name, 60), field === first)));
  const operatorChoice = h("select", { "aria-label": t("filter.operator") });
  const place = h(".value");
  let field = first;
  let input;
  const fillValue = (given) => {
    input = valueField(field, operatorChoice.value, given);
    put(place, input.element);
    place.hidden = !input.element;
    changed();
  };
  const fillOperators = (given) => {
    put(operatorChoice, OPERATORS.get(field.type).map((one) => option(one, operatorWord(one, field.type), one === given)));
  };
  fieldChoice.addEventListener("change", () => {
    field = fields.find((one) => one.name === fieldChoice.value);
    fillOperators();
    fillValue();
  });
  operatorChoice.addEventListener("change", () => {
    let kept;
    try {
      kept = input.read();
    } catch {
      kept = undefined;
    }
    fillValue(kept);
  });
  fillOperators(operator);
  fillValue(value);
  return {
    element: h(".condition", fieldChoice, operatorChoice, place),
    read: () => ({ field: field.name, operator: operatorChoice.value, value: input.read() }),
    field: () => field.name,
    operator: () => operatorChoice.value,
    focusValue: () => (place.querySelector("input, select, textarea") ?? operatorChoice).focus(),
  };
}

/** Creates the field of a value: `{ element, read() }`; `read` throws an error with a message if the text isn't a value. */
function valueField(field, operator, value) {
  if (operator === "$exists" || operator === "$missing") return { element: null, read: () => undefined };
  if (operator === "near") return near(field, value);
  if (operator === "whose") return whose(field, value);
  if (operator === "$in" || operator === "$all") return list(field, value);
  if (field.type === "Boolean") {
    const element = h("select", { "aria-label": t("word.value") }, [true, false].map((one) => option(String(one), String(one), value === one)));
    return { element, read: () => element.value === "true" };
  }
  if (field.type === "Pointer" || field.type === "Relation") return object(field, value);
  return text(field, value);
}

const input = (value, placeholder) => textField({ value, placeholder, "aria-label": t("word.value") });

function read(value, field) {
  const result = fromText(value, field);
  if (result === undefined) throw notOne(value, field);
  return result;
}

function text(field, value) {
  const isDate = field.type === "Date";
  const given = value !== undefined && !(isDate && typeOf(value) !== "Date") ? value : undefined;
  const element = input(startText(field.type, given), isDate ? t("date.hint") : "");
  // An array may contain elements of any type. A text that isn't JSON stands for itself.
  const inner = field.type === "Array" ? { read: (typed) => { try { return JSON.parse(typed); } catch { return typed; } } } : { read: (typed) => read(typed, field) };
  return { element, read: () => inner.read(element.value) };
}

function list(field, value) {
  const given = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const element = input(given.map(asText).join(", "), t("filter.listHint"));
  const inner = field.type === "Array" ? { ...field, type: "String" } : field;
  return { element, read: () => element.value.split(",").map((part) => part.trim()).filter(Boolean).map((part) => read(part, inner)) };
}

function object(field, value) {
  const choice = pointerField(field.targetClass, { value: typeOf(value) === "Pointer" ? value : undefined, isOpen: true });
  choice.input.setAttribute("aria-label", t("word.value"));
  return { element: choice.element, read: () => choice.chosen() ?? read(choice.input.value, { ...field, type: "Pointer" }) };
}

function near(field, value) {
  const point = input(value?.point ? asText(value.point) : "", t("geo.hint"));
  const kilometers = h("input", { type: "number", min: "0", step: "any", value: String(value?.kilometers ?? 10), "aria-label": t("filter.kilometers") });
  return {
    element: h(".pair", point, h("label.line", kilometers, "km")),
    read: () => ({ point: read(point.value, field), kilometers: Number(kilometers.value) || 10 }),
  };
}

function whose(field, value) {
  const inner = conditionRow(field.targetClass, value?.groups?.[0]?.[0]);
  return { element: h(".inner", inner.element), read: () => ({ className: field.targetClass, groups: [[inner.read()]] }) };
}
