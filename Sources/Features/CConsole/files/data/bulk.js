/** Bulk changes: sets or deletes a field of all selected objects, or of all that match the filter. */

import { objectPath, parse } from "../core/api.js";
import { button, h, labelled, option, put } from "../core/dom.js";
import { addWords, plain, t } from "../core/words.js";
import { confirm, openForm } from "../parts/dialog.js";
import { complain, record, toast } from "../parts/states.js";
import { BATCH, TYPED, askToDelete, batchPath, inBatches, run } from "./batches.js";
import { valueInput } from "./editors/inline.js";
import { viewsOf } from "./rows.js";
import { isReadOnly, ranked } from "./schema.js";
import { isEqual, noValue, setOwn } from "./values.js";

addWords({
  "bulk.title": "Set a field of {n} {n|object|objects}", "bulk.empty": "Leave the value empty to remove it.", "bulk.go": "Set {n} {n|object|objects}",
  "bulk.sure": "This sets {field} of {n} {n|object|objects} of {class} to {value}.", "bulk.done": "{field} of {n} {n|object|objects} set",
  "bulk.undone": "{field} of {n} {n|object|objects} restored", "bulk.left": "{n} {n|object is|objects are} not restored yet.",
  "bulk.kept": "{n} {n|object was|objects were} changed by others since and kept.", "bulk.nothing": "nothing", "bulk.reading": "Reading the objects…",
});

/** Creates the editor of an ACL as a form field. */
const accessInput = ({ body, read, focus }) => ({ element: h(".form", body), read: () => read()?.value, words: () => body[0].innerText.replaceAll("\n", " "), focus });

/** Asks for a field and a value, and sets it; `which` is "selected" or "all", `first` the preselected field. */
export async function openBulk(page, which, first) {
  const { className, description, grid } = page;
  const n = which === "all" ? page.rows.total : grid.selected.size;
  const fields = ranked(description).filter((field) => !isReadOnly(className, field) && !["Relation", "File", "Password"].includes(field.type));
  const { editAccess } = await import("./editors/members.js");
  const chosen = await openForm({ title: t("bulk.title", { n }), button: t("bulk.go", { n }) }, () => {
    let input;
    const choice = h("select", { autofocus: true, onchange: () => draw() }, fields.map((field) => option(field.name, plain(field.name, 60), field.name === first)));
    const place = h("div");
    const hint = h("p.quiet", t("bulk.empty"));
    const draw = () => {
      const field = fields[choice.selectedIndex];
      hint.hidden = field.type === "ACL";
      input = hint.hidden ? accessInput(editAccess({})) : valueInput(field);
      put(place, hint.hidden ? input.element : labelled(t("word.value"), input.element));
    };
    draw();
    return {
      body: [labelled(t("word.field"), choice), place, hint],
      save: async () => {
        const [field, value] = [fields[choice.selectedIndex], await input.read()];
        // If the operator left while an object was being searched, nothing is set.
        return place.isConnected ? { field, value, text: input.words?.() ?? place.querySelector("input, select, textarea").value } : undefined;
      },
      focus: () => input.focus(),
    };
  });
  if (!chosen) return;
  const { field } = chosen;
  const value = chosen.value ?? noValue(field);
  const shownValue = value === undefined ? t("bulk.nothing") : chosen.text ?? String(value);
  const areMeant = (n) => confirm({
    title: t("bulk.title", { n }), text: t("bulk.sure", { field: field.name, n, class: className, value: shownValue }), button: t("bulk.go", { n }),
    typed: n > TYPED ? n : undefined, typedLabel: t("delete.type", { n }),
  });
  if (which === "all" && !(await areMeant(n))) return;
  const before = await meant(page, which, field.name);
  if (!before || (before.length > n && !(await areMeant(before.length)))) return;
  const store = (title, objects, valueOf) => run(title, objects, inBatches((object) => {
    const next = valueOf(object) ?? noValue(field);
    return { method: "PUT", path: batchPath(className, object.id), body: setOwn({}, field.name, next === undefined ? { __op: "Delete" } : next) };
  }));
  const done = await store(t("bulk.title", { n: before.length }), before, () => value);
  for (const { id } of done) {
    const index = page.rows.indexOf(id);
    if (index >= 0) page.rows.at(index).set(field.name, value);
  }
  page.reload();
  if (done.length === 0) return;
  let left = done;
  record(t("bulk.done", { field: field.name, n: done.length }), async () => {
    // Values that others have changed since are kept.
    const now = new Map((await readIds(className, left.map(({ id }) => id), field.name)).map(({ id, old }) => [id, old]));
    const ours = left.filter(({ id }) => now.has(id) && (value === undefined ? now.get(id) === undefined : isEqual(now.get(id), value)));
    const undone = await store(t("bulk.undone", { field: field.name, n: ours.length }), ours, ({ old }) => old);
    if (ours.length < left.length) toast(t("bulk.kept", { n: left.length - ours.length }), { isBad: true });
    const isDone = new Set(undone);
    left = ours.filter((object) => !isDone.has(object));
    for (const view of viewsOf(className)) view.reload();
    // Objects that are rejected repeatedly are given up.
    if (left.length > 0 && (undone.isCut || undone.length > 0)) throw Object.assign(new Error(t("bulk.left", { n: left.length })), { isUnfinished: true });
    return t("bulk.undone", { field: field.name, n: undone.length });
  });
}

/** Deletes all objects that match the filter. */
export async function deleteAll(page) {
  const n = page.rows.total;
  const { className } = page;
  if (!(await askToDelete(className, n, []))) return;
  const all = await meant(page, "all");
  // The displayed number may be outdated, or only that of the rows on the page if counting took too long.
  if (!all || (all.length > n && !(await askToDelete(className, all.length, [])))) return;
  const done = await run(t("delete.title", { n: all.length, class: className }), all, inBatches(({ id }) => ({ method: "DELETE", path: batchPath(className, id) })));
  page.reload();
  toast(t("delete.done", { n: done.length, class: className }));
}

const rowsOf = (objects, field) => objects.map((object) => ({ id: object.objectId, old: new Map(Object.entries(object)).get(field) }));

/** Reads the values of a field of objects by their ids. */
async function readIds(className, ids, field, options) {
  const found = [];
  for (let from = 0; from < ids.length; from += 100) {
    const query = { where: { objectId: { $in: ids.slice(from, from + 100) } }, keys: field ?? "objectId", order: "objectId", limit: 100 };
    found.push(...rowsOf((await parse.get(objectPath(className), query, options)).body.results, field));
  }
  return found;
}

/** Reads the ids and old values of all affected objects before anything changes. */
export async function meant(page, which, field) {
  const { className, where } = page;
  const found = [];
  const read = async (condition, limit) => (await parse.get(objectPath(className), {
    where: condition, keys: field ?? "objectId", order: "objectId", limit,
  }, { signal: page.scope })).body.results;
  let waiting;
  try {
    if (which === "selected") return await readIds(className, [...page.grid.selected.keys()], field, { signal: page.scope });
    waiting = toast(t("bulk.reading"), { seconds: 600 });
    for (;;) {
      const after = found.length > 0 ? { objectId: { $gt: found.at(-1).id } } : {};
      const some = await read(Object.keys(where).length > 0 ? { $and: [where, after] } : after, 5 * BATCH);
      found.push(...rowsOf(some, field));
      if (some.length < 5 * BATCH) break;
    }
    return found;
  } catch (problem) {
    complain(problem);
    return undefined;
  } finally {
    waiting?.();
  }
}
