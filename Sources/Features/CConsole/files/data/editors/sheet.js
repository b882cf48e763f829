/** Editors for large values in a sheet next to the page. */

import { h, problemLine, put } from "../../core/dom.js";
import { addWords, bytes, t } from "../../core/words.js";
import { openDialog, openForm } from "../../parts/dialog.js";
import { saveBlob } from "../batches.js";
import { nameOfRow } from "../save.js";
import { typeOf } from "../schema.js";
import { copy, isEqual, parsePoint } from "../values.js";
import { tree } from "./tree.js";

const EDITORS = new Map(Object.entries({
  String: editText, Polygon: editPolygon, Bytes: editBytes,
  File: async (place) => (await import("./file.js")).edit(place),
  Relation: async (place) => (await import("./members.js")).editRelation(place),
  ACL: async (place) => (await import("./members.js")).editAccess(place),
}));

/**
 * Opens the sheet of a field, starting with `draft` if given and comparing with `value`. `save(change)` is called with a change for
 * `saveField`. An editor returns `{ body, read() }`, where `read` returns a change or null and throws an error for invalid input, or
 * `{ body }` if it saves by itself.
 */
export async function openSheet(place) {
  const { className, row, field, save } = place;
  let close;
  const editor = await (EDITORS.get(field.type) ?? editJSON)({ ...place, close: () => close() });
  const title = t("edit.label", { field: field.name, object: nameOfRow(className, row) });
  const options = { title, kind: "sheet", button: t("save") };
  if (!editor.read) {
    await openDialog(options, (end) => {
      close = end;
      return editor;
    });
    return;
  }
  const change = await openForm(options, () => ({ ...editor, save: editor.read }));
  if (change) save(change);
}

addWords({ "text.length": "{n} {n|character|characters}, {size}, {lines} lines", });

function editText({ value, text }) {
  const area = h("textarea.tall", { autofocus: true, value: text ?? value ?? "", spellcheck: "true", "aria-label": t("word.text") });
  const numbers = h(".numbers", { "aria-hidden": "true" });
  const length = h("span.quiet.start");
  const draw = () => {
    const lines = area.value.split("\n").length;
    if (numbers.childElementCount !== Math.min(lines, 2000)) put(numbers, Array.from({ length: Math.min(lines, 2000) }, (_, index) => h("div", String(index + 1))));
    put(length, t("text.length", { n: area.value.length, size: bytes(new Blob([area.value]).size), lines }));
  };
  area.addEventListener("input", draw);
  area.addEventListener("scroll", () => { numbers.style.transform = `translateY(${-area.scrollTop}px)`; }, { passive: true });
  draw();
  // A text field normalizes line ends. An unchanged text keeps its own.
  const shown = area.value;
  return {
    body: h(".numbered", h(".gutter", numbers), area), extra: length,
    read: () => (text === undefined && area.value === shown ? null : { value: area.value }), focus: () => area.focus(),
  };
}

addWords({
  "polygon.hint": "One point per line: latitude, longitude. At least three.",
  "polygon.line": "Line {line} is not a point: {text}", "polygon.few": "A polygon has at least three points.",
});

function editPolygon({ value, draft = value }) {
  const points = value?.coordinates ?? [];
  const first = draft?.coordinates ?? [];
  const isClosed = first.length > 3 && isEqual(first[0], first.at(-1));
  const given = first.slice(0, isClosed ? -1 : undefined).map((point) => point.join(", ")).join("\n");
  const area = h("textarea", { rows: 10, autofocus: true, spellcheck: "false", "aria-label": t("polygon.hint"), value: given });
  return {
    body: [h("p.quiet", t("polygon.hint")), area],
    read: () => {
      const lines = area.value.split("\n").map((line) => line.trim());
      const coordinates = lines.flatMap((line, index) => {
        if (line === "") return [];
        const point = parsePoint(line);
        if (!point) throw new Error(t("polygon.line", { line: String(index + 1), text: line }));
        return [point];
      });
      if (coordinates.length === 0) return value === undefined ? null : { value: undefined };
      if (coordinates.length < 3) throw new Error(t("polygon.few"));
      coordinates.push([...coordinates[0]]);
      return isEqual(coordinates, points) ? null : { value: { __type: "Polygon", coordinates } };
    },
    focus: () => area.focus(),
  };
}

addWords({
  "bytes.label": "Bytes as hexadecimal digits",
  "bytes.wrong": "{text} is not in pairs of hexadecimal digits.",
});

const SOME = 65536;

const bytesOf = (value) => (value ? Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0)) : new Uint8Array());
const digitsOf = (data) => [...data].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

function editBytes({ value, draft, row, field }) {
  const data = bytesOf(value);
  const hex = digitsOf(data.subarray(0, SOME));
  const area = h("textarea", { rows: 12, autofocus: true, spellcheck: "false", value: draft ? digitsOf(bytesOf(draft)) : hex, readOnly: data.length > SOME, "aria-label": t("bytes.label") });
  return {
    body: [h("p.quiet", t("bytes.label"), ` \u00b7 ${bytes(data.length)}`), area],
    extra: h("button.button.start", { disabled: data.length === 0, onclick: () => saveBlob(new Blob([data]), `${row.id}-${field.name}.bin`) }, t("word.download")),
    read: () => {
      if (area.value === hex) return null;
      const digits = area.value.replace(/\s+/g, "");
      if (digits === "") return { value: undefined };
      const wrong = /[^0-9a-f]/i.exec(digits);
      if (wrong || digits.length % 2) throw new Error(t("bytes.wrong", { text: wrong?.[0] ?? digits.slice(-1) }));
      const next = digits.match(/../g).map((pair) => String.fromCharCode(parseInt(pair, 16))).join("");
      return { value: { __type: "Bytes", base64: btoa(next) } };
    },
    focus: () => area.focus(),
  };
}

addWords({
  "json.tree": "Tree", "json.label": "Value as JSON", "json.line": "Line {line}: {reason}", "json.kind": "{field} is {type}; this is {other}.",
  "json.path": "Saves only {path}",
});

function parseJSON(text) {
  try {
    return JSON.parse(text);
  } catch (problem) {
    const place = /position (\d+)/.exec(problem.message);
    const line = place ? text.slice(0, Number(place[1])).split("\n").length : text.split("\n").length;
    throw new Error(t("json.line", { line: String(line), reason: problem.message.replace(/ \(line.*\)$/, "") }));
  }
}

/** Returns the members in which two objects differ as `{ path, value }`, or null if they must be replaced as a whole. */
function differences(before, after, path = []) {
  if (isEqual(before, after)) return [];
  const areObjects = typeOf(before) === "Object" && typeOf(after) === "Object";
  if (!areObjects) return path.length > 0 ? [{ path, value: after }] : null;
  const found = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    // A key with a dot, or one that isn't a valid name, can't be part of a path.
    if (!isEqual(before[key], after[key]) || Object.hasOwn(before, key) !== Object.hasOwn(after, key)) {
      if (!/^[A-Za-z0-9_][A-Za-z0-9_-]*$/.test(key) || key.startsWith("__")) return path.length > 0 ? [{ path, value: after }] : null;
      if (!Object.hasOwn(after, key)) found.push({ path: [...path, key], value: undefined });
      else if (!Object.hasOwn(before, key)) found.push({ path: [...path, key], value: after[key] });
      else {
        const inner = differences(before[key], after[key], [...path, key]);
        if (inner === null) return null;
        found.push(...inner);
      }
    }
  }
  return found;
}

function editJSON({ field, value, draft }) {
  const start = value ?? (field.type === "Array" ? [] : {});
  const area = h("textarea.tall", { autofocus: true, value: JSON.stringify(draft ?? start, null, 2), spellcheck: "false", "aria-label": t("json.label") });
  const problem = problemLine();
  const paths = h("p.quiet");
  const changesIn = (next) => (value === undefined || value === null ? null : differences(start, next));
  const changed = (next) => {
    const found = changesIn(next);
    put(paths, found?.length === 1 ? t("json.path", { path: [field.name, ...found[0].path].join(".") }) : "");
  };
  const view = tree(copy(draft ?? start), (next) => {
    changed(next);
    area.value = JSON.stringify(next, null, 2);
    put(problem);
  });
  const read = () => {
    const next = parseJSON(area.value);
    const type = Array.isArray(next) ? "Array" : next !== null && typeof next === "object" ? "Object" : typeOf(next) ?? "null";
    if (type !== (field.type === "Array" ? "Array" : "Object")) {
      throw new Error(t("json.kind", { field: field.name, type: field.type, other: type }));
    }
    return next;
  };
  if (draft) changed(draft);
  area.addEventListener("input", () => {
    try {
      const next = read();
      put(problem);
      area.removeAttribute("aria-invalid");
      changed(next);
      view.show(next);
    } catch (refusal) {
      area.setAttribute("aria-invalid", "true");
      put(problem, refusal.message);
    }
  });
  return {
    body: [h(".json", h("section", h("h3.label", t("json.tree")), view.element), h("section", h("h3.label", t("word.text")), area)), problem, paths],
    read: () => {
      const next = read();
      const found = changesIn(next);
      if (found?.length === 0) return null;
      return found?.length === 1 ? found[0] : { value: next };
    },
    focus: () => area.focus(),
  };
}
