/** One field of many objects: those that are selected, or all that fit the filter. */

import { objectPath, parse } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { plain } from "../core/text.js";
import { addWords, t } from "../core/words.js";
import { confirm, openDialog } from "../parts/dialog.js";
import { toast } from "../parts/toast.js";
import { BATCH, openProgress, runBatches } from "./batches.js";
import { ranked } from "./columns.js";
import { askToDelete, batchPath, TYPED } from "./delete.js";
import { valueInput } from "./editors/value-input.js";
import { record } from "./history.js";
import { isReadOnly } from "./schema.js";
import { setOwn } from "./values.js";
import "./words.js";

addWords({
  "bulk.title": "Set a field of {n} {n|object|objects}",
  "bulk.field": "Field",
  "bulk.value": "Value",
  "bulk.empty": "Leave the value empty to remove it.",
  "bulk.go": "Set {n} {n|object|objects}",
  "bulk.sure": "{field} of {n} {n|object|objects} of {class} is set to {value}.",
  "bulk.done": "{field} of {n} {n|object|objects} set",
  "bulk.undone": "{field} of {n} {n|object|objects} as before",
  "bulk.nothing": "nothing",
  "bulk.reading": "Reading the objects…",
});

/** Asks for a field and a value, and sets it; `which` is "selected" or "all". */
export async function openBulk(page, which) {
  const { className, description, grid } = page;
  const n = which === "all" ? page.rows.total : grid.selected.size;
  const fields = ranked(description).filter((field) => !isReadOnly(className, field) && !["Relation", "File", "Password"].includes(field.type));
  const chosen = await openDialog({ title: t("bulk.title", { n }) }, (close) => {
    let input;
    const choice = h("select", { autofocus: true }, fields.map((field) => h("option", { value: field.name }, plain(field.name, 60))));
    const place = h("div");
    const problem = h("p.problem", { role: "alert" });
    const draw = () => {
      input = valueInput(fields[choice.selectedIndex]);
      put(place, input.element);
    };
    choice.addEventListener("change", draw);
    draw();
    const go = () => {
      try {
        close({ field: fields[choice.selectedIndex], value: input.read(), text: input.element.querySelector?.("input")?.value ?? input.element.value });
      } catch (refusal) {
        put(problem, refusal.message);
        input.focus();
      }
    };
    return {
      body: [h("label.stack", h("span.label", t("bulk.field")), choice), h("label.stack", h("span.label", t("bulk.value")), place), h("p.quiet", t("bulk.empty")), problem],
      foot: [button(".button", () => close(), t("cancel")), button(".button.primary", go, t("bulk.go", { n }))],
    };
  });
  if (!chosen) return;
  const { field, value } = chosen;
  const shownValue = value === undefined ? t("bulk.nothing") : chosen.text ?? String(value);
  if (which === "all" && !(await confirm({
    title: t("bulk.title", { n }), text: t("bulk.sure", { field: field.name, n, class: className, value: shownValue }), button: t("bulk.go", { n }),
    typed: n > TYPED ? n : undefined, typedLabel: t("delete.type", { n }),
  }))) return;
  const before = await readAll(page, which, field.name);
  if (!before) return;
  const body = setOwn({}, field.name, value === undefined ? { __op: "Delete" } : value);
  const progress = openProgress(t("bulk.title", { n: before.length }), before.length);
  const { done } = await runBatches(before, ({ id }) => ({ method: "PUT", path: batchPath(className, id), body }), progress);
  progress.end();
  for (const { id } of done) {
    const index = page.rows.indexOf(id);
    if (index >= 0) page.rows.at(index).set(field.name, value);
  }
  page.reload();
  if (done.length === 0) return;
  record(t("bulk.done", { field: field.name, n: done.length }), async () => {
    const back = openProgress(t("bulk.undone", { field: field.name, n: done.length }), done.length);
    const undone = await runBatches(done, ({ id, old }) => ({
      method: "PUT", path: batchPath(className, id), body: setOwn({}, field.name, old === undefined ? { __op: "Delete" } : old),
    }), back);
    back.end();
    page.reload();
    return t("bulk.undone", { field: field.name, n: undone.done.length });
  });
}

/** Deletes all that fit the filter. */
export async function deleteAll(page) {
  const n = page.rows.total;
  const { className } = page;
  if (!(await askToDelete(className, n, []))) return;
  const all = await readAll(page, "all");
  if (!all) return;
  const progress = openProgress(t("delete.title", { n: all.length, class: className }), all.length);
  const { done } = await runBatches(all, ({ id }) => ({ method: "DELETE", path: batchPath(className, id) }), progress);
  progress.end();
  page.reload();
  toast(t("delete.done", { n: done.length, class: className }));
}

/** Ids, and the old values of a field, of all objects that are meant: read before anything changes. */
async function readAll(page, which, field) {
  const { className, where } = page;
  const found = [];
  const read = async (condition, limit) => (await parse.get(objectPath(className), {
    where: condition, keys: field ?? "objectId", order: "objectId", limit,
  }, { signal: page.scope })).body.results;
  const add = (objects) => {
    for (const object of objects) found.push({ id: object.objectId, old: new Map(Object.entries(object)).get(field) });
  };
  try {
    if (which === "selected") {
      const ids = [...page.grid.selected.keys()];
      for (let from = 0; from < ids.length; from += 100) add(await read({ objectId: { $in: ids.slice(from, from + 100) } }, 100));
      return found;
    }
    const waiting = toast(t("bulk.reading"), { seconds: 600 });
    for (;;) {
      const after = found.length > 0 ? { objectId: { $gt: found.at(-1).id } } : {};
      const some = await read(Object.keys(where).length > 0 ? { $and: [where, after] } : after, 5 * BATCH);
      add(some);
      if (some.length < 5 * BATCH) break;
    }
    waiting();
    return found;
  } catch (problem) {
    toast(problem.message, { isBad: true });
    return undefined;
  }
}
