/** Editors that stand in the cell: texts of one line, numbers, dates, points, pointers. */

import { button, h, put } from "../../core/dom.js";
import { date, zone } from "../../core/format.js";
import { plain } from "../../core/text.js";
import { t } from "../../core/words.js";
import { toast } from "../../parts/toast.js";
import { asText, fromText, losesDigits, parseDate, parseNumber } from "../values.js";
import "../words.js";
import { PointerPicker } from "./pointer.js";

/** Types that are edited in the cell. */
export const INLINE = new Set(["String", "Number", "Date", "GeoPoint", "Pointer", "Password"]);

/** Why a text is no value of a field, in words. */
export function wordsFor(problem, field) {
  const text = problem.cause?.text;
  return t(problem.message === "digits" ? "edit.digits" : "edit.notOne", { field: field.name, type: t("type." + field.type), text: plain(text ?? "", 40) });
}

/**
 * An editor of one value. `commit(change, direction)` is called with `{ value }` or `{ amount }`, or with null when nothing was
 * changed, `cancel()` when it is dropped.
 * The element has `focus()`; it says itself what is wrong with what was typed.
 */
export function inlineEditor({ field, value, text, problem, label, commit, cancel }) {
  const startText = text ?? (field.type === "Date" && value ? date(value.iso, true).replace(/ UTC$/, "") : asText(value));
  const input = h("input", {
    type: field.type === "Password" ? "password" : "text", value: startText, "aria-label": label, autocomplete: field.type === "Password" ? "new-password" : "off",
    spellcheck: field.type === "String" ? "true" : "false", class: field.type === "Number" ? "right" : "",
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
  if (field.type === "Date") dateHint(input, hint, startText);
  let isDone = false;
  const end = (change, direction) => {
    if (isDone) return;
    isDone = true;
    if (change || direction) commit(change, direction ?? "stay");
    else cancel();
  };
  const finish = (direction) => {
    let change;
    try {
      change = read(input.value, field, value, startText, picker);
    } catch (refusal) {
      complain(wordsFor(refusal, field));
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
  element.addEventListener("focusout", (event) => {
    if (isDone || element.contains(event.relatedTarget) || !document.hasFocus()) return;
    if (event.relatedTarget?.closest?.(".signin, dialog")) return;
    if (!finish("none")) {
      toast(message.textContent, { isBad: true, seconds: 4 });
    }
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

/** The change that a text means; null when it means none. Throws when it means no value. */
function read(text, field, value, startText, picker) {
  if (field.type === "Password") return text === "" ? null : { value: text };
  if (field.type === "String") return text === (value ?? "") && value !== undefined || (text === "" && value === undefined) ? null : { value: text };
  if (text === startText && value !== undefined) return null;
  if (field.type === "Number") {
    const sum = /^\s*\+\s*(.+)$/.exec(text);
    if (sum && parseNumber(sum[1]) !== undefined) return { amount: parseNumber(sum[1]) };
    if (parseNumber(text.trim()) !== undefined && losesDigits(text)) throw new Error("digits", { cause: { text } });
  }
  if (picker?.chosen) return { value: picker.chosen };
  const read = fromText(text, field);
  return read === undefined && value === undefined ? null : { value: read };
}

function dateHint(input, hint) {
  const zoneButton = h("button.plain", { type: "button" });
  const means = h("span");
  const native = h("input.hidden-date", { type: "datetime-local", tabIndex: -1, "aria-hidden": "true", step: "0.001" });
  const draw = () => {
    put(zoneButton, zone.isUTC ? t("date.utc") : t("date.local"));
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
