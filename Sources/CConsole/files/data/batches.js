/** Work on many objects, deleting and setting a field: by 200, with a bar, a rate, a stop, and a list of what failed. */

import { objectPath, parse, send } from "../core/api.js";
import { button, h, labelled, option, put } from "../core/dom.js";
import { session } from "../core/session.js";
import { addWords, bytes, plain, t } from "../core/words.js";
import { confirm, openDialog, openForm } from "../parts/dialog.js";
import { record, toast } from "../parts/states.js";
import { valueInput } from "./editors/inline.js";
import { nameOfRow } from "./save.js";
import { forget, isReadOnly, ranked } from "./schema.js";
import { setOwn } from "./values.js";

addWords({
  "batch.of": "{done} of {total}",
  "batch.rate": "{rate} a second, {left} s left",
  "batch.stop": "Stop",
  "batch.stopped": "Stopped: {done} of {total} are done, the others are as they were.",
  "batch.done": "All {total} are done.",
  "batch.failed": "{n} failed",
  "batch.download": "Download the list ({size})",
  "batch.lost": "The connection was lost after {done} of {total}; up to 200 more may be done.",
});

/** Objects in a request. */
export const BATCH = 200;

/** A dialog with a bar. */
function openProgress(title, total) {
  const control = new AbortController();
  const bar = h("progress", { max: String(total), value: 0, "aria-label": title });
  const words = h("p", { role: "status" });
  const rate = h("p.quiet");
  const stop = button(".button", () => control.abort(), t("batch.stop"));
  let close;
  const began = performance.now();
  const closed = openDialog({ title, mayClose: () => stop.hidden || (control.abort(), false) }, (end) => {
    close = end;
    return { body: [bar, words, rate], foot: [stop] };
  });
  const self = {
    signal: control.signal, closed, failures: [], done: 0,
    advance(done) {
      self.done = done;
      bar.value = done;
      put(words, t("batch.of", { done, total }));
      const speed = done / ((performance.now() - began) / 1000);
      put(rate, speed > 0 ? t("batch.rate", { rate: Math.round(speed), left: Math.round((total - done) / speed) }) : "");
    },
    /** Closes, or tells what was not done. */
    end(isLost = false) {
      const { done, failures } = self;
      if (done >= total && failures.length === 0) {
        close();
        return;
      }
      put(words, isLost ? t("batch.lost", { done, total }) : done < total ? t("batch.stopped", { done, total }) : t("batch.done", { total }));
      // No cell of a spreadsheet begins a formula.
      const text = failures.map(({ id, error, code }) => `${id}\t${code ?? ""}\t${error}`).join("\n").replace(/(?<=^|\t)[=+@-]/gm, "'$&");
      put(rate, failures.length > 0 && [h("strong.bad", t("batch.failed", { n: failures.length })), " ", plain(failures[0].error, 300), " ", download(text)]);
      stop.hidden = true;
      stop.after(button(".button.primary", () => close(), t("close")));
    },
  };
  self.advance(0);
  return self;
}

function download(text) {
  const blob = new Blob([text], { type: "text/tab-separated-values" });
  return button(".link", () => saveBlob(blob, "failures.tsv"), t("batch.download", { size: bytes(blob.size) }));
}

/** Hands a file to the browser. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Sends a request for each of a list, by `BATCH`; gives those of which it succeeded. Stops between two batches. */
export async function run(title, list, requestOf) {
  const progress = openProgress(title, list.length);
  const done = [];
  let handled = 0;
  for (let from = 0; from < list.length && !progress.signal.aborted; from += BATCH) {
    const some = list.slice(from, from + BATCH);
    let answers;
    try {
      answers = (await parse.post("batch", { requests: some.map(requestOf) })).body;
    } catch (problem) {
      if (problem.status === 0) {
        progress.end(true);
        return done;
      }
      answers = some.map(() => ({ error: { error: problem.message, code: problem.code } }));
    }
    some.forEach((item, index) => {
      const answer = answers[index];
      if (answer?.success) done.push(item);
      else progress.failures.push({ id: typeof item === "string" ? item : item.id, ...answer?.error });
    });
    handled += some.length;
    progress.advance(handled);
  }
  progress.end();
  return done;
}

/** Above this number it must be typed. */
export const TYPED = 1000;

/** Asks for, and deletes rows of a page. */
export async function deleteRows(page, rows) {
  const { className } = page;
  if (rows.length === 0 || !(await askToDelete(className, rows.length, rows.slice(0, 6).map((row) => nameOfRow(className, row))))) {
    page.grid?.focus({ preventScroll: true });
    return false;
  }
  const ids = rows.map((row) => row.id);
  const deleted = ids.length === 1 ? await deleteOne(className, ids[0]) : await deleteMany(page, ids);
  if (!deleted) return false;
  for (const id of deleted.ids) {
    page.grid?.selected.delete(id);
    page.rows?.remove(id);
  }
  page.grid?.redraw();
  page.moved?.();
  page.grid?.focus({ preventScroll: true });
  if (deleted.ids.length === 0) return false;
  forget(className);
  record(t("delete.done", { n: deleted.ids.length, class: className }), async () => {
    const n = await restore(className, deleted);
    forget(className);
    page.reload?.();
    return t("delete.restored", { n });
  });
  return true;
}

/** Asks whether objects are to be deleted. */
export function askToDelete(className, n, names) {
  return confirm({
    title: t("delete.title", { n, class: className }), button: t("delete.button"), isDanger: true,
    text: h("div", names.length > 0 && h("ul.names", names.map((name) => h("li", h("bdi", plain(name, 60)))), n > names.length && h("li.quiet", t("delete.more", { n: n - names.length }))), h("p.quiet", t("delete.text"))),
    typed: n > TYPED ? n : undefined, typedLabel: t("delete.type", { n }),
  });
}

async function deleteOne(className, id) {
  try {
    const { headers } = await parse.delete(objectPath(className, id));
    return { ids: [id], trash: headers.get("X-Roost-Trash") ? [headers.get("X-Roost-Trash")] : null };
  } catch (problem) {
    toast(problem.message, { isBad: true });
    return null;
  }
}

async function deleteMany({ className }, ids) {
  return {
    ids: await run(t("delete.title", { n: ids.length, class: className }), ids, (id) => ({ method: "DELETE", path: batchPath(className, id) })), trash: null,
  };
}

/** The path of an object inside a batch. */
export function batchPath(className, id) {
  return `${mount()}/${objectPath(className, id)}`;
}

const mount = () => (session.peek().server.mount ?? "/parse").replace(/\/$/, "");

/** Takes objects out of the trash again. */
async function restore(className, { ids, trash }) {
  let wanted = trash;
  if (!wanted) {
    const { body } = await send("GET", "trash", { query: { className } });
    const newest = new Map(body.objects.toReversed().map((entry) => [entry.objectId, entry.id]));
    // The list has the last ones only.
    for (const objectId of ids.filter((id) => !newest.has(id))) {
      const { body: one } = await send("GET", "trash", { query: { className, objectId } });
      const found = one.objects.find((entry) => entry.objectId === objectId);
      if (found) newest.set(objectId, found.id);
    }
    wanted = ids.map((id) => newest.get(id)).filter(Boolean);
  }
  const dropped = new Set();
  for (const id of wanted) {
    const { headers } = await send("POST", `trash/${encodeURIComponent(id)}/restore`, { body: {}, isRepeatable: false });
    for (const field of headers.get("X-Roost-Dropped")?.split(",") ?? []) dropped.add(field.trim());
  }
  if (dropped.size > 0) toast(t("delete.without", { fields: [...dropped].join(", "), class: className }), { isBad: true });
  return wanted.length;
}

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
  const chosen = await openForm({ title: t("bulk.title", { n }), button: t("bulk.go", { n }) }, () => {
    let input;
    const choice = h("select", { autofocus: true, onchange: () => draw() }, fields.map((field) => option(field.name, plain(field.name, 60))));
    const place = h("div");
    const draw = () => {
      input = valueInput(fields[choice.selectedIndex]);
      put(place, input.element);
    };
    draw();
    return {
      body: [labelled(t("bulk.field"), choice), labelled(t("bulk.value"), place), h("p.quiet", t("bulk.empty"))],
      save: () => ({ field: fields[choice.selectedIndex], value: input.read(), text: place.querySelector("input, select, textarea").value }),
      focus: () => input.focus(),
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
  const store = (title, objects, valueOf) => run(title, objects, (object) => {
    const next = valueOf(object);
    return { method: "PUT", path: batchPath(className, object.id), body: setOwn({}, field.name, next === undefined ? { __op: "Delete" } : next) };
  });
  const done = await store(t("bulk.title", { n: before.length }), before, () => value);
  for (const { id } of done) {
    const index = page.rows.indexOf(id);
    if (index >= 0) page.rows.at(index).set(field.name, value);
  }
  page.reload();
  if (done.length === 0) return;
  record(t("bulk.done", { field: field.name, n: done.length }), async () => {
    const undone = await store(t("bulk.undone", { field: field.name, n: done.length }), done, ({ old }) => old);
    page.reload();
    return t("bulk.undone", { field: field.name, n: undone.length });
  });
}

/** Deletes all that fit the filter. */
export async function deleteAll(page) {
  const n = page.rows.total;
  const { className } = page;
  if (!(await askToDelete(className, n, []))) return;
  const all = await readAll(page, "all");
  if (!all) return;
  const done = await run(t("delete.title", { n: all.length, class: className }), all, ({ id }) => ({ method: "DELETE", path: batchPath(className, id) }));
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
