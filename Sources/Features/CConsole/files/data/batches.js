/** Changes and deletes many objects in batches, with progress, a stop button and a list of failures. */

import { objectPath, parse, send } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { session } from "../core/session.js";
import { addWords, bytes, plain, t } from "../core/words.js";
import { confirm, openDialog } from "../parts/dialog.js";
import { complain, record, toast } from "../parts/states.js";
import { viewsOf } from "./rows.js";
import { nameOfRow } from "./save.js";
import { forget } from "./schema.js";
import { guarded } from "./values.js";

addWords({
  "batch.of": "{done} of {total}", "batch.rate": "{rate} a second, {left} s left", "batch.stopped": "Stopped: {done} of {total} are done.",
  "batch.done": "All {total} are done.", "batch.failed": "{n} failed", "batch.download": "Download the list ({size})", "delete.misfit": "The type of a field has changed",
  "delete.misfitText": "The object's values in {fields} no longer fit the class. You can restore it without them.", "delete.restoreWithout": "Restore without {fields}",
  "batch.lost": "The connection was lost after {done} of {total}; up to {n} more may be done.",
});

export const BATCH = 200;

function openProgress(title, total, size) {
  const control = new AbortController();
  const bar = h("progress", { max: String(total), value: 0, "aria-label": title });
  const words = h("p", { role: "status" });
  const rate = h("p.quiet");
  const stop = button(".button", () => control.abort(), t("word.stop"));
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
    /** Closes the dialog, or shows the failures. */
    end(isLost = false) {
      const { done, failures } = self;
      if (done >= total && failures.length === 0) {
        close();
        return;
      }
      put(words, isLost ? t("batch.lost", { done, total, n: size }) : done < total ? t("batch.stopped", { done, total }) : t("batch.done", { total }));
      // No cell may begin a formula in a spreadsheet.
      const text = failures.map(({ id, error, code }) => [id, code ?? "", error].map((cell) => guarded(String(cell).replace(/[\t\r\n]/g, " "))).join("\t")).join("\n");
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

export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Returns a function that sends requests for some of a list in one batch. */
export const inBatches = (requestOf) => async (some) => (await parse.post("batch", { requests: some.map(requestOf) })).body;

/**
 * Processes a list in batches; `work(some)` returns a response per element. Returns the elements that succeeded, with `isCut` if it was
 * stopped.
 */
export async function run(title, list, work, size = BATCH) {
  const progress = openProgress(title, list.length, size);
  const done = [];
  let handled = 0;
  for (let from = 0; from < list.length && !progress.signal.aborted; from += size) {
    const some = list.slice(from, from + size);
    let answers;
    try {
      answers = await work(some);
    } catch (problem) {
      // An operator who doesn't confirm their identity doesn't want the rest either.
      if (problem.isUnfinished) {
        progress.end(problem.status === 0);
        return Object.assign(done, { isCut: true });
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
  return Object.assign(done, { isCut: handled < list.length });
}

/** The number of objects above which the operator must type their number before deleting them. */
export const TYPED = 1000;

export async function deleteRows(page, rows) {
  const { className } = page;
  if (rows.length === 0 || !(await askToDelete(className, rows.length, rows.slice(0, 6).map((row) => nameOfRow(className, row))))) {
    page.grid?.focus({ preventScroll: true });
    return false;
  }
  const ids = rows.map((row) => row.id);
  const deleted = ids.length === 1 ? await deleteOne(className, ids[0]) : {
    ids: await run(t("delete.title", { n: ids.length, class: className }), ids, inBatches((id) => ({ method: "DELETE", path: batchPath(className, id) }))), trash: null,
  };
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
  record(t("delete.done", { n: deleted.ids.length, class: className }), className !== "_Session" && (async () => {
    try {
      return t("delete.restored", { n: await restore(className, deleted) });
    } finally {
      forget(className);
      for (const view of viewsOf(className)) view.reload();
    }
  }));
  return true;
}

export function askToDelete(className, n, names) {
  return confirm({
    title: t("delete.title", { n, class: className }), button: t("delete"), isDanger: true,
    text: h("div", names.length > 0 && h("ul.names", names.map((name) => h("li", h("bdi", plain(name, 60)))), n > names.length && h("li.quiet", t("word.andMore", { n: n - names.length }))), h("p.quiet", t(className === "_Session" ? "delete.sessions" : "delete.text"))),
    typed: n > TYPED ? n : undefined, typedLabel: t("delete.type", { n }),
  });
}

async function deleteOne(className, id) {
  try {
    const { headers } = await parse.delete(objectPath(className, id));
    return { ids: [id], trash: headers.get("X-Roost-Trash") ? [headers.get("X-Roost-Trash")] : null };
  } catch (problem) {
    complain(problem);
    return null;
  }
}

/** Returns the path of an object inside a batch. */
export function batchPath(className, id) {
  return `${mount()}/${objectPath(className, id)}`;
}

const mount = () => (session.peek().server.mount ?? "/parse").replace(/\/$/, "");

/**
 * Restores an object from the trash, and returns the fields that were left out. If values no longer fit the types of their fields, asks
 * whether to restore without these; `agreed` has the fields for which the operator agreed.
 */
export async function restoreEntry(id, agreed = new Set()) {
  for (;;) {
    try {
      const { headers } = await send("POST", `trash/${encodeURIComponent(id)}/restore`, { body: agreed.size > 0 ? { without: [...agreed] } : {}, isRepeatable: false });
      return headers.get("X-Roost-Dropped")?.split(",") ?? [];
    } catch (problem) {
      const fields = problem.status === 409 && problem.body?.fields;
      const places = { fields: (fields || []).join(", ") };
      // An operator who declined once isn't asked again for each object.
      if (!fields || agreed.isRefused) throw problem;
      agreed.isRefused = !(await confirm({ title: t("delete.misfit"), text: t("delete.misfitText", places), button: t("delete.restoreWithout", places) }));
      if (agreed.isRefused) throw problem;
      for (const field of fields) agreed.add(field);
    }
  }
}

/** Restores objects from the trash, even if one of them fails. If the connection is lost, the rest stays in `deleted`. */
async function restore(className, deleted) {
  const { ids } = deleted;
  if (!deleted.trash) {
    const { body } = await send("GET", "trash", { query: { className } });
    const newest = new Map(body.objects.toReversed().map((entry) => [entry.objectId, entry.id]));
    // The list has only the latest entries.
    for (const objectId of ids.filter((id) => !newest.has(id))) {
      const { body: one } = await send("GET", "trash", { query: { className, objectId } });
      const found = one.objects.find((entry) => entry.objectId === objectId);
      if (found) newest.set(objectId, found.id);
    }
    deleted.trash = ids.map((id) => newest.get(id)).filter(Boolean);
  }
  const [dropped, agreed] = [new Set(), new Set()];
  let n = 0;
  for (const wanted = deleted.trash; wanted.length > 0; wanted.shift()) {
    try {
      const fields = await restoreEntry(wanted[0], agreed);
      n += 1;
      for (const field of fields) dropped.add(field);
    } catch (problem) {
      if (problem.isUnfinished) throw problem;
      complain(problem);
    }
  }
  if (dropped.size > 0) toast(t("delete.without", { fields: [...dropped].join(", "), class: className }), { isBad: true });
  return n;
}
