/** Bulk actions that set no field: adding objects to a relation or role, or calling a function for each. */

import { objectPath, parse, send } from "../core/api.js";
import { h, labelled, option, textField } from "../core/dom.js";
import { addWords, plain, t } from "../core/words.js";
import { confirm, openForm } from "../parts/dialog.js";
import { record, toast } from "../parts/states.js";
import { BATCH, TYPED, run } from "./batches.js";
import { meant } from "./bulk.js";
import { pointerField } from "./editors/pointer.js";
import { classes, nameOf } from "./schema.js";
import { fromText, pointer, setOwn } from "./values.js";

addWords({
  "others.add": "Add {n} {n|object|objects} of {class}", "others.relation": "To the relation", "others.owner": "Of the object",
  "others.ownerMissing": "Choose the object to add them to.", "others.noRelation": "No class has a relation to {class}.",
  "others.addSure": "{n} {n|object|objects} of {class} become members of {field} of {owner}.", "others.added": "{n} {n|object|objects} added to {field} of {owner}",
  "others.there": "All of them are members already.", "others.removed": "{field} of {owner} restored", "others.call": "Call a function for {n} {n|object|objects}",
  "others.function": "Function", "others.params": "Parameters as a JSON object",
  "others.paramsHint": "Each call gets these and, as the parameter object, its object. It uses the master key.",
  "others.callSure": "This calls {name} {n} {n|time|times}. You can't undo it.", "others.called": "{name} called for {n} {n|object|objects}",
});

/** Asks for a confirmation, again if there are more objects than displayed. Returns the ids, or undefined if it wasn't given. */
async function read(page, which, n, question) {
  const areMeant = (number) => confirm({ ...question(number), typed: number > TYPED ? number : undefined, typedLabel: t("delete.type", { n: number }) });
  if (!(await areMeant(n))) return undefined;
  const objects = await meant(page, which);
  return objects && (objects.length <= n || (await areMeant(objects.length))) ? objects.map(({ id }) => id) : undefined;
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
  const ids = await read(page, which, n, (number) => ({ title: t("others.add", { n: number, class: className }), text: t("others.addSure", { n: number, ...places }), button: t("others.add", { n: number, class: className }) }));
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

/** The number of concurrent calls. */
const CALLS = 4;

/** Calls a function for each object. */
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
  const ids = await read(page, which, n, (number) => ({ title: t("others.call", { n: number }), text: t("others.callSure", { name, n: number }), button: t("others.call", { n: number }) }));
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
