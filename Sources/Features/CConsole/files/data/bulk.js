/**
 * Bulk actions on all selected objects, or on all that match the filter: sets a field, deletes, adds to a relation or role, or calls a
 * function.
 */

import { objectPath, parse, send } from "../core/api.js";
import { h, labelled, option, put, textField } from "../core/dom.js";
import { address, go } from "../core/router.js";
import { addWords, plain, t } from "../core/words.js";
import { confirm, openForm } from "../parts/dialog.js";
import { complain, record, toast } from "../parts/states.js";
import { BATCH, TYPED, askToDelete, batchPath, inBatches, run } from "./batches.js";
import { valueInput } from "./editors/inline.js";
import { pointerField } from "./editors/pointer.js";
import { viewsOf } from "./rows.js";
import { classes, isReadOnly, nameOf, ranked } from "./schema.js";
import { fromText, isEqual, noValue, pointer, setOwn } from "./values.js";

addWords({
  "bulk.title": "Set a field of {n} {n|object|objects}", "bulk.empty": "Leave the value empty to remove it.", "bulk.go": "Set {n} {n|object|objects}",
  "bulk.sure": "This sets {field} of {n} {n|object|objects} of {class} to {value}.", "bulk.done": "{field} of {n} {n|object|objects} set",
  "bulk.undone": "{field} of {n} {n|object|objects} restored", "bulk.left": "{n} {n|object is|objects are} not restored yet.",
  "bulk.kept": "{n} {n|object was|objects were} changed by others since and kept.", "bulk.nothing": "nothing", "bulk.reading": "Reading the objects…",
  "others.add": "Add {n} {n|object|objects} of {class}", "others.relation": "To the relation", "others.owner": "Of the object",
  "others.ownerMissing": "Choose the object to add them to.", "others.noRelation": "No class has a relation to {class}.",
  "others.addSure": "{n} {n|object|objects} of {class} become members of {field} of {owner}.", "others.added": "{n} {n|object|objects} added to {field} of {owner}",
  "others.there": "All of them are members already.", "others.removed": "{field} of {owner} restored", "others.call": "Call a function for {n} {n|object|objects}",
  "others.function": "Function", "others.params": "Parameters as a JSON object",
  "others.paramsHint": "Each call gets these, and its object as the parameter object. It has all rights.",
  "others.callSure": "This calls {name} {n} {n|time|times}. You can't undo it.", "others.called": "{name} called for {n} {n|object|objects}",
});

const accessInput = ({ body, read, focus }) => ({ element: h(".form", body), read: () => read()?.value, words: () => body.at(-1).innerText.replaceAll("\n", " "), focus });

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
      input = hint.hidden ? accessInput(editAccess({ className })) : valueInput(field);
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
  const before = await read(page, which, n, (n) => ({ title: t("bulk.title", { n }), text: t("bulk.sure", { field: field.name, n, class: className, value: shownValue }), button: t("bulk.go", { n }) }), field.name);
  if (!before) return;
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

export async function deleteAll(page) {
  const n = page.rows.total;
  const { className } = page;
  if (!(await askToDelete(className, n, []))) return;
  const all = await meant(page, "all");
  // The displayed number may be outdated, or only that of the rows on the page if counting took too long.
  if (!all || (all.length > n && !(await askToDelete(className, all.length, [])))) return;
  const done = await run(t("delete.title", { n: all.length, class: className }), all, inBatches(({ id }) => ({ method: "DELETE", path: batchPath(className, id) })));
  page.reload();
  // The trash restores single objects only.
  if (done.length > 0) record(t("delete.done", { n: done.length, class: className }), undefined, undefined, { words: t("rail.trash"), do: () => go(address("trash", [className])) });
}

const rowsOf = (objects, field) => objects.map((object) => ({ id: object.objectId, old: new Map(Object.entries(object)).get(field) }));

async function readIds(className, ids, field, options) {
  const found = [];
  for (let from = 0; from < ids.length; from += 100) {
    const query = { where: { objectId: { $in: ids.slice(from, from + 100) } }, keys: field ?? "objectId", order: "objectId", limit: 100 };
    found.push(...rowsOf((await parse.get(objectPath(className), query, options)).body.results, field));
  }
  return found;
}

/** Reads the ids and old values of all affected objects before anything changes. */
async function meant(page, which, field) {
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

/** Asks for a confirmation, again if there are more objects than displayed. Returns the objects, or undefined if it wasn't given. */
async function read(page, which, n, question, field) {
  const areMeant = (number) => confirm({ ...question(number), typed: number > TYPED ? number : undefined, typedLabel: t("delete.type", { n: number }) });
  // The form for a field has already shown a small number of selected objects, and undo restores them.
  if ((which === "all" || !field || n > TYPED) && !(await areMeant(n))) return undefined;
  const objects = await meant(page, which, field);
  return objects && (objects.length <= n || (await areMeant(objects.length))) ? objects : undefined;
}

/** Adds objects to a relation, such as users to a role; `which` is "selected" or "all". */
export async function openAdding(page, which) {
  const { className } = page;
  const n = which === "all" ? page.rows.total : page.grid.selected.size;
  const relations = [...classes.peek().values()].flatMap(({ className: owner, fields }) => [...fields.values()]
    .filter(({ type, targetClass }) => type === "Relation" && targetClass === className).map((field) => ({ owner, field: field.name })))
    // Roles come first.
    .sort((left, right) => Number(right.owner === "_Role") - Number(left.owner === "_Role"));
  if (relations.length === 0) {
    toast(t("others.noRelation", { class: className }), { isBad: true });
    return;
  }
  const title = t("others.add", { n, class: className });
  const chosen = await openForm({ title, button: title }, () => {
    let picker;
    const place = h("div");
    const draw = () => {
      picker = pointerField(relations[choice.selectedIndex].owner, { isOpen: true });
      place.replaceChildren(picker.element);
    };
    const choice = h("select", { onchange: draw }, relations.map(({ owner, field }, index) => option(String(index), `${plain(owner, 40)} \u00b7 ${plain(field, 40)}`)));
    draw();
    return {
      body: [labelled(t("others.relation"), choice), labelled(t("others.owner"), place)],
      save: async () => {
        const to = await picker.read();
        if (!to) throw new Error(t("others.ownerMissing"));
        return { ...relations[choice.selectedIndex], to };
      },
      focus: () => picker.input.focus(),
    };
  });
  if (!chosen) return;
  const { owner, field, to } = chosen;
  const places = { class: className, field, owner: nameOf(owner, to.objectId) || to.objectId };
  const ids = (await read(page, which, n, (number) => ({ title: t("others.add", { n: number, class: className }), text: t("others.addSure", { n: number, ...places }), button: t("others.add", { n: number, class: className }) })))?.map(({ id }) => id);
  if (!ids) return;
  const path = objectPath(owner, to.objectId);
  const change = async (operation, some) => {
    await parse.put(path, setOwn({}, field, { __op: operation, objects: some.map((id) => pointer(className, id)) }));
    return some.map(() => ({ success: {} }));
  };
  // Undo removes only objects that weren't members before.
  let added = [];
  const done = await run(title, ids, async (some) => {
    const where = { $relatedTo: { object: pointer(owner, to.objectId), key: field }, objectId: { $in: some } };
    const known = new Set((await parse.get(objectPath(className), { where, keys: "objectId", limit: BATCH })).body.results.map(({ objectId }) => objectId));
    const others = some.filter((id) => !known.has(id));
    if (others.length > 0) await change("AddRelation", others);
    added.push(...others);
    return some.map(() => ({ success: {} }));
  });
  page.reload();
  if (added.length === 0) {
    // Failures and stops were already reported.
    if (done.length > 0 && done.length === ids.length) toast(t("others.there"));
    return;
  }
  record(t("others.added", { n: added.length, ...places }), async () => {
    const undone = await run(t("others.removed", places), added, (some) => change("RemoveRelation", some));
    const isDone = new Set(undone);
    added = added.filter((id) => !isDone.has(id));
    // Objects that are rejected repeatedly are given up.
    if (added.length > 0) throw Object.assign(new Error(t("bulk.left", { n: added.length })), { isUnfinished: undone.isCut || undone.length > 0 });
    return t("others.removed", places);
  });
}

const CALLS = 4;

export async function openCalling(page, which) {
  const { className } = page;
  const n = which === "all" ? page.rows.total : page.grid.selected.size;
  const title = t("others.call", { n });
  const names = await send("GET", "cloud", { signal: page.scope }).then(({ body }) => body.functions.map(({ name }) => name).sort(), () => []);
  const chosen = await openForm({ title, button: title }, () => {
    const choice = names.length > 0 ? h("select", names.map((name) => option(name, plain(name, 60)))) : textField({ autofocus: true });
    const params = h("textarea", { rows: 4, spellcheck: "false", value: "{}" });
    return {
      body: [labelled(t("others.function"), choice), labelled(t("others.params"), params), h("p.quiet", t("others.paramsHint"))],
      save: () => ({ name: choice.value.trim(), params: fromText(params.value.trim() || "{}", { name: t("others.params"), type: "Object" }) }),
    };
  });
  if (!chosen?.name) return;
  const { name, params } = chosen;
  const ids = (await read(page, which, n, (number) => ({ title: t("others.call", { n: number }), text: t("others.callSure", { name, n: number }), button: t("others.call", { n: number }) })))?.map(({ id }) => id);
  if (!ids) return;
  const done = await run(title, ids, (some) => Promise.all(some.map(async (id) => {
    try {
      await parse.post("functions/" + encodeURIComponent(name), { ...params, object: pointer(className, id) });
      return { success: {} };
    } catch (problem) {
      if (problem.isUnfinished) throw problem;
      return { error: { error: problem.message, code: problem.code } };
    }
  })), CALLS);
  page.reload();
  // The effect of a function is unknown, so it can't be undone.
  if (done.length > 0) record(t("others.called", { name, n: done.length }));
}
