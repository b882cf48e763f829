/** The panel in which a condition is chosen: field, operator, value; alternatives by "or". */

import { button, h, option, problemLine, put, textField } from "../../core/dom.js";
import { plain, t } from "../../core/words.js";
import { openPanel } from "../../parts/dialog.js";
import { startText } from "../editors/inline.js";
import { pointerField } from "../editors/pointer.js";
import { classes, ranked, typeOf } from "../schema.js";
import { asText, fromText, notOne } from "../values.js";
import { OPERATORS, operatorWord } from "./model.js";

/** Opens the panel beside an element; `done(group)` is called with what was chosen. */
export function editGroup({ anchor, className, group, start, done }) {
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

/** Field, operator and value of one condition, as an element that can be read. */
function conditionRow(className, { field: name, operator, value } = {}, changed = () => {}) {
  const description = classes.peek().get(className);
  const fields = ranked(description).filter(({ type }) => OPERATORS.has(type));
  const first = fields.find((field) => field.name === name) ?? fields.find((field) => field.name !== "objectId") ?? fields[0];
  const fieldChoice = h("select", { "aria-label": t("filter.field") }, fields.map((field) => option(field.name, plain(field.name, 60), field === first)));
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

/** `{ element, read() }`; `read` throws an Error in words when what is typed is no value. */
function valueField(field, operator, value) {
  if (operator === "$exists" || operator === "$missing") return { element: null, read: () => undefined };
  if (operator === "near") return near(field, value);
  if (operator === "whose") return whose(field, value);
  if (operator === "$in" || operator === "$all") return list(field, value);
  if (field.type === "Boolean") return flag(value);
  if (field.type === "Pointer" || field.type === "Relation") return object(field, value);
  return text(field, value);
}

const input = (value, placeholder) => textField({ value, placeholder, "aria-label": t("filter.value") });

function read(value, field) {
  const result = fromText(value, field);
  if (result === undefined) throw notOne(value, field);
  return result;
}

function text(field, value) {
  const isDate = field.type === "Date";
  const given = value !== undefined && !(isDate && typeOf(value) !== "Date") ? value : undefined;
  const element = input(startText(field.type, given), isDate ? t("date.hint") : "");
  // An element of a list may be of any type; a text that is no JSON stands for itself.
  const inner = field.type === "Array" ? { read: (typed) => { try { return JSON.parse(typed); } catch { return typed; } } } : { read: (typed) => read(typed, field) };
  return { element, read: () => inner.read(element.value) };
}

function flag(value) {
  const element = h("select", { "aria-label": t("filter.value") }, [true, false].map((one) => option(String(one), String(one), value === one)));
  return { element, read: () => element.value === "true" };
}

function list(field, value) {
  const given = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const element = input(given.map(asText).join(", "), t("filter.listHint"));
  const inner = field.type === "Array" ? { ...field, type: "String" } : field;
  return { element, read: () => element.value.split(",").map((part) => part.trim()).filter(Boolean).map((part) => read(part, inner)) };
}

function object(field, value) {
  const choice = pointerField(field.targetClass, { value: typeOf(value) === "Pointer" ? value : undefined, isOpen: true });
  choice.input.setAttribute("aria-label", t("filter.value"));
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
