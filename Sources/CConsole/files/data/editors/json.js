/** Arrays and objects: a tree and the text beside each other. A member is saved by its path, so that others' changes stay. */

import { h, put } from "../../core/dom.js";
import { addWords, t } from "../../core/words.js";
import { typeOf } from "../types.js";
import { copy, isEqual } from "../values.js";
import { tree } from "./tree.js";

addWords({
  "json.text": "Text",
  "json.tree": "Tree",
  "json.label": "Value as JSON",
  "json.line": "Line {line}: {reason}",
  "json.kind": "{field} is {type}; this is {other}.",
  "json.paths": "Saved alone: {paths}",
});

/** Where a text stops being JSON, by line. */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch (problem) {
    const place = /position (\d+)/.exec(problem.message);
    const line = place ? text.slice(0, Number(place[1])).split("\n").length : text.split("\n").length;
    throw new Error(t("json.line", { line: String(line), reason: problem.message.replace(/ \(line.*\)$/, "") }));
  }
}

/** The members in which two objects differ, as `{ path, value }`; null when they differ as wholes. */
export function differences(before, after, path = []) {
  if (isEqual(before, after)) return [];
  const areObjects = typeOf(before) === "Object" && typeOf(after) === "Object";
  if (!areObjects) return path.length > 0 ? [{ path, value: after }] : null;
  const found = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    // A key with a dot, or one that is no name, cannot be a part of a path.
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

/** Tree and text. */
export function edit({ field, value, text }) {
  const start = value ?? (field.type === "Array" ? [] : {});
  const area = h("textarea.tall", { autofocus: true, value: text ?? JSON.stringify(start, null, 2), spellcheck: "false", "aria-label": t("json.label") });
  const problem = h("p.problem", { role: "alert" });
  const paths = h("p.quiet");
  let current = copy(start);
  const changed = (next) => {
    current = next;
    const found = differences(start, current);
    put(paths, found?.length ? t("json.paths", { paths: found.map(({ path }) => [field.name, ...path].join(".")).slice(0, 4).join(", ") }) : "");
  };
  const view = tree(current, (next) => {
    changed(next);
    area.value = JSON.stringify(next, null, 2);
    put(problem);
  });
  const read = () => {
    const next = parse(area.value);
    const type = Array.isArray(next) ? "Array" : next !== null && typeof next === "object" ? "Object" : typeOf(next) ?? "null";
    if (type !== (field.type === "Array" ? "Array" : "Object")) {
      throw new Error(t("json.kind", { field: field.name, type: field.type, other: type }));
    }
    return next;
  };
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
    body: [h(".json", h("section", h("h3.label", t("json.tree")), view.element), h("section", h("h3.label", t("json.text")), area)), problem, paths],
    read: () => {
      const next = read();
      const found = value === undefined || value === null ? null : differences(start, next);
      if (found?.length === 0) return null;
      return found?.length === 1 ? found[0] : { value: next };
    },
    focus: () => area.focus(),
  };
}

