/** Line editors in cells: short texts, numbers, dates, points, pointers. */

import { button, h, option, put, textField } from "../../core/dom.js";
import { date, plain, t, zone } from "../../core/words.js";
import { toast } from "../../parts/states.js";
import { typeOf } from "../schema.js";
import { asText, fromText, losesDigits, parseDate, parseNumber, pointer } from "../values.js";
import { pointerField, PointerPicker } from "./pointer.js";

export const INLINE = new Set(["String", "Number", "Date", "GeoPoint", "Pointer", "Password"]);

/** Returns the initial text for a value. */
export const startText = (type, value) => (type === "Date" && value ? date(value.iso ?? value, true).replace(/ UTC$/, "") : asText(value));

const secret = (type) => (type === "Password" ? { type: "password", autocomplete: "new-password" } : {});

/**
 * Creates the editor of one value. `commit(change, direction)` is called with `{ value }` or `{ amount }`, or with null if nothing changed;
 * `cancel()` is called if the edit is canceled. The element has `focus()`, and displays its own errors.
 */
export function inlineEditor({ field, value, text, problem, label, commit, cancel }) {
  const start = startText(field.type, value);
  const input = textField({
    ...secret(field.type), value: text ?? start, "aria-label": label, spellcheck: String(field.type === "String"), class: field.type === "Number" ? "right" : "",
    inputmode: field.type === "Number" ? "decimal" : null,
    placeholder: { Number: t("number.hint"), Date: t("date.hint"), GeoPoint: t("geo.hint"), Pointer: field.targetClass && t("pointer.find", { class: field.targetClass }) }[field.type] ?? "",
  });
  const message = h(".g-message", { role: "alert", hidden: true });
  const hint = h(".g-hint", { hidden: true });
  const element = h("div.g-editor", input, message, hint);
  const complain = (words) => {
    put(message, words);
    message.hidden = !words;
    hint.hidden = Boolean(words) || !hint.childElementCount;
    if (words) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  const picker = field.type === "Pointer" ? new PointerPicker(field.targetClass, input, (picked) => end({ value: picked }, "stay")) : null;
  if (picker) element.append(picker.list);
  if (picker && text) picker.search();
  if (field.type === "Date") dateHint(input, hint);
  let isDone = false;
  const end = (change, direction) => {
    if (isDone) return;
    isDone = true;
    if (change || direction) commit(change, direction ?? "stay");
    else cancel();
  };
  const finish = async (direction) => {
    // A typed name isn't an id until the search has finished.
    const isLookedFor = picker && input.value !== start && input.value.trim() !== "";
    if (isLookedFor) await picker.ready();
    if (isDone) return true;
    if (isLookedFor && !picker.chosen) {
      complain(picker.unknown((value) => end({ value }, "stay")));
      input.focus();
      return false;
    }
    let change;
    try {
      change = read(input.value, field, value, start, picker);
    } catch (refusal) {
      complain(refusal.message);
      input.focus();
      return false;
    }
    end(change, direction);
    return true;
  };
  input.addEventListener("input", () => complain(""));
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (picker?.handleKey(event)) return;
    const direction = event.key === "Enter" && !event.altKey ? (event.shiftKey ? "up" : "down") : event.key === "Tab" ? (event.shiftKey ? "left" : "right") : null;
    if (direction) finish(direction);
    else if (event.key === "Escape") end(null);
    else if (event.key === "Enter" && event.altKey && field.type === "String") end({ sheet: input.value });
    else {
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  element.addEventListener("focusout", async (event) => {
    if (isDone || element.contains(event.relatedTarget) || !document.hasFocus()) return;
    if (event.relatedTarget?.closest?.(".signin, dialog")) return;
    if (!(await finish("none"))) toast(message.firstChild.textContent, { isBad: true, seconds: 4 });
  });
  element.focus = () => {
    input.focus();
    if (text === undefined) input.select();
    else input.setSelectionRange(input.value.length, input.value.length);
    if (problem) complain(problem);
  };
  element.finish = finish;
  return element;
}

/** Returns the change that a text means, or null for none. Throws if the text isn't a value. */
function read(text, field, value, startText, picker) {
  if (field.type === "Password") return text === "" ? null : { value: text };
  if (field.type === "String") return text === (value ?? "") && value !== undefined || (text === "" && value === undefined) ? null : { value: text };
  if (picker?.chosen) return { value: picker.chosen };
  if (text === startText && value !== undefined) return null;
  if (field.type === "Number") {
    const sum = /^\s*\+\s*(.+)$/.exec(text);
    if (sum && parseNumber(sum[1]) !== undefined) return { amount: parseNumber(sum[1]) };
    if (parseNumber(text.trim()) !== undefined && losesDigits(text)) throw new Error(t("edit.digits", { text: plain(text, 40) }));
  }
  const read = fromText(text, field);
  return read === undefined && value === undefined ? null : { value: read };
}

function dateHint(input, hint) {
  const zoneButton = h("button.plain");
  const means = h("span");
  const native = h("input.hidden-date", { type: "datetime-local", tabIndex: -1, "aria-hidden": "true", step: "0.001" });
  const draw = () => {
    put(zoneButton, zone.isUTC ? t("grid.utc") : t("date.local"));
    const at = parseDate(input.value.trim());
    put(means, at ? t("date.means", { date: date(at, true) }) : t("date.hint"));
  };
  zoneButton.addEventListener("click", () => {
    const at = parseDate(input.value.trim());
    zone.isUTC = !zone.isUTC;
    if (at) input.value = date(at, true).replace(/ UTC$/, "");
    draw();
    input.focus();
  });
  native.addEventListener("change", () => {
    if (native.value) input.value = native.value.replace("T", " ");
    draw();
    input.focus();
  });
  put(hint, means, zoneButton, button(".plain", () => native.showPicker?.(), t("date.pick")), native);
  hint.hidden = false;
  input.addEventListener("input", draw);
  draw();
}

let number = 0;

/**
 * Creates a form field: `{ element, id, read(), focus() }`. `read` returns undefined if empty, and throws an error with a message (for
 * pointers asynchronously).
 */
export function valueInput(field, value) {
  number += 1;
  const id = `value-${number}`;
  const { type } = field;
  if (type === "Pointer") {
    const choice = pointerField(field.targetClass, { id, value: typeOf(value) === "Pointer" ? pointer(value.className, value.objectId) : undefined });
    return { element: choice.element, id, read: choice.read, focus: () => choice.input.focus() };
  }
  const isLong = ["Array", "Object", "Polygon", "Bytes", "ACL"].includes(type);
  const given = value === undefined || value === null ? "" : isLong ? JSON.stringify(value, null, 2) : startText(type, value);
  const placeholder = { Date: t("date.hint"), GeoPoint: t("geo.hint"), Array: "[]", Object: "{}", Polygon: '{"__type":"Polygon","coordinates":[[0,0],[0,1],[1,1]]}' }[type];
  const element = type === "Boolean" ? h("select", { id }, [["", t("pointer.clear")], ["true", "true"], ["false", "false"]].map(([key, words]) => option(key, words, key === given)))
    : isLong ? h("textarea", { id, rows: 3, value: given, placeholder, spellcheck: "false" })
    : textField({ id, value: given, placeholder, ...secret(type) });
  const read = () => {
    const text = element.value;
    if (text === "") return undefined;
    if (type === "Number" && losesDigits(text)) throw new Error(t("edit.digits", { text: plain(text, 40) }));
    return type === "Password" ? text : fromText(text, field);
  };
  return { element, id, read, focus: () => element.focus() };
}
