/** The value of a condition: a field that fits the type and the operator. */

import { h } from "../../core/dom.js";
import { date } from "../../core/format.js";
import { t } from "../../core/words.js";
import { PointerPicker } from "../editors/pointer.js";
import { wordsFor } from "../editors/inline.js";
import { nameOf } from "../names.js";
import { typeOf } from "../types.js";
import { asText, fromText, pointer } from "../values.js";
import { conditionRow } from "./editor.js";

/** `{ element, read() }`; `read` throws an Error in words when what is typed is no value. */
export function valueField(field, operator, value, className) {
  if (operator === "$exists" || operator === "$missing") return { element: null, read: () => undefined };
  if (operator === "near") return near(field, value);
  if (operator === "whose") return whose(field, value);
  if (operator === "$in" || operator === "$all") return list(field, value);
  if (field.type === "Boolean") return flag(value);
  if (field.type === "Pointer" || field.type === "Relation") return object(field, value);
  return text(field, value, className);
}

const input = (value, hint = "") => h("input", { type: "text", value, placeholder: hint, "aria-label": t("filter.value"), autocomplete: "off", spellcheck: "false" });

function read(value, field) {
  let result;
  try {
    result = fromText(value, field);
  } catch (problem) {
    throw new Error(wordsFor(problem, field));
  }
  if (result === undefined) throw new Error(wordsFor(new Error("notOne", { cause: { text: value } }), field));
  return result;
}

function text(field, value) {
  const isDate = field.type === "Date";
  const given = value !== undefined && !(isDate && typeOf(value) !== "Date") ? value : undefined;
  const element = input(given === undefined ? "" : isDate ? date(given.iso, true).replace(/ UTC$/, "") : asText(given), isDate ? t("date.hint") : "");
  // An element of a list may be of any type; a text that is no JSON stands for itself.
  const inner = field.type === "Array" ? { read: (typed) => { try { return JSON.parse(typed); } catch { return typed; } } } : { read: (typed) => read(typed, field) };
  return { element, read: () => inner.read(element.value) };
}

function flag(value) {
  const element = h("select", { "aria-label": t("filter.value") }, [true, false].map((one) => h("option", { value: String(one), selected: value === one }, String(one))));
  return { element, read: () => element.value === "true" };
}

function list(field, value) {
  const given = Array.isArray(value) ? value : value === undefined ? [] : [value];
  const element = input(given.map(asText).join(", "), t("filter.listHint"));
  const inner = field.type === "Array" ? { ...field, type: "String" } : field;
  return { element, read: () => element.value.split(",").map((part) => part.trim()).filter(Boolean).map((part) => read(part, inner)) };
}

function object(field, value) {
  const given = typeOf(value) === "Pointer" ? value : undefined;
  const element = input(given ? given.objectId : "", t("pointer.find", { class: field.targetClass }));
  let chosen = given;
  const choose = (picked) => {
    chosen = picked;
    element.value = nameOf(picked.className, picked.objectId) || picked.objectId;
    picker.list.replaceChildren();
  };
  const picker = new PointerPicker(field.targetClass, element, choose);
  element.addEventListener("input", () => { chosen = undefined; });
  element.addEventListener("keydown", (event) => {
    if (picker.handleKey(event)) return;
    if (event.key === "Enter" && picker.chosen && !chosen) {
      event.preventDefault();
      choose(picker.chosen);
    }
  });
  return {
    element: h("div", element, picker.list),
    read: () => chosen ?? picker.chosen ?? pointer(field.targetClass, read(element.value, { ...field, type: "Pointer" }).objectId),
  };
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
