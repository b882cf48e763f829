/** A field of a form for a value of any type that can be typed. */

import { h, put } from "../../core/dom.js";
import { date } from "../../core/format.js";
import { t } from "../../core/words.js";
import { nameOf } from "../names.js";
import { typeOf } from "../types.js";
import { asText, fromText, losesDigits, pointer } from "../values.js";
import { wordsFor } from "./inline.js";
import { PointerPicker } from "./pointer.js";

let number = 0;

/** `{ element, id, read(), focus() }`; `read` gives undefined for nothing, and throws an Error in words. */
export function valueInput(field, value) {
  number += 1;
  const id = `value-${number}`;
  if (field.type === "Boolean") return choice(field, value, id);
  if (field.type === "Pointer") return picker(field, value, id);
  const isLong = ["Array", "Object", "Polygon", "Bytes", "ACL"].includes(field.type);
  const given = value === undefined || value === null ? "" : field.type === "Date" ? date(value.iso ?? value, true).replace(/ UTC$/, "") : isLong ? JSON.stringify(value, null, 2) : asText(value);
  const hints = { Date: t("date.hint"), GeoPoint: t("geo.hint"), Array: "[]", Object: "{}", Polygon: '{"__type":"Polygon","coordinates":[[0,0],[0,1],[1,1]]}' };
  const element = isLong
    ? h("textarea", { id, rows: 3, value: given, placeholder: hints[field.type] ?? "", spellcheck: "false" })
    : h("input", { id, type: field.type === "Password" ? "password" : "text", value: given, placeholder: hints[field.type] ?? "", autocomplete: field.type === "Password" ? "new-password" : "off" });
  const read = () => {
    const text = element.value;
    if (text === "") return undefined;
    if (field.type === "Password") return text;
    if (field.type === "Number" && losesDigits(text)) throw new Error(t("edit.digits", { text }));
    try {
      return fromText(text, field);
    } catch (problem) {
      throw new Error(wordsFor(problem, field));
    }
  };
  return { element, id, read, focus: () => element.focus() };
}

function choice(field, value, id) {
  const element = h("select", { id }, [["", t("pointer.clear")], ["true", "true"], ["false", "false"]]
    .map(([key, words]) => h("option", { value: key, selected: key === (value === undefined ? "" : String(value)) }, words)));
  return { element, id, read: () => (element.value === "" ? undefined : element.value === "true"), focus: () => element.focus() };
}

function picker(field, value, id) {
  let chosen = typeOf(value) === "Pointer" ? pointer(value.className, value.objectId) : undefined;
  const input = h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", placeholder: t("pointer.find", { class: field.targetClass }), value: chosen ? nameOf(chosen.className, chosen.objectId) || chosen.objectId : "" });
  const list = h("div");
  let choices;
  const pick = (found) => {
    chosen = found;
    input.value = nameOf(found.className, found.objectId) || found.objectId;
    put(list);
    choices = undefined;
  };
  input.addEventListener("input", () => {
    chosen = undefined;
    if (choices) return;
    choices = new PointerPicker(field.targetClass, input, pick);
    choices.search();
    put(list, choices.list);
  });
  input.addEventListener("keydown", (event) => {
    if (choices?.handleKey(event)) return;
    if (event.key === "Enter" && choices?.chosen) {
      event.preventDefault();
      event.stopPropagation();
      pick(choices.chosen);
    } else if (event.key === "Escape" && choices) {
      event.preventDefault();
      event.stopPropagation();
      put(list);
      choices = undefined;
    }
  });
  const read = () => {
    if (chosen || choices?.chosen) return chosen ?? choices.chosen;
    if (input.value.trim() === "") return undefined;
    try {
      return fromText(input.value, field);
    } catch (problem) {
      throw new Error(wordsFor(problem, field));
    }
  };
  return { element: h(".picker", input, list), id, read, focus: () => input.focus() };
}
