/** Deleting: told with number and names, into the trash, back on demand. */

import { objectPath, parse, send } from "../core/api.js";
import { h } from "../core/dom.js";
import { session } from "../core/session.js";
import { plain } from "../core/text.js";
import { t } from "../core/words.js";
import { confirm } from "../parts/dialog.js";
import { toast } from "../parts/toast.js";
import { runBatches, openProgress } from "./batches.js";
import { record } from "./history.js";
import { forget } from "./names.js";
import { nameOfRow } from "./save.js";
import "./words.js";

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
  const progress = openProgress(t("delete.title", { n: ids.length, class: className }), ids.length);
  const { done } = await runBatches(ids, (id) => ({ method: "DELETE", path: batchPath(className, id) }), progress);
  progress.end();
  return { ids: done, trash: null };
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
  let n = 0;
  for (const id of wanted) {
    await send("POST", `trash/${encodeURIComponent(id)}/restore`, { body: {}, isRepeatable: false });
    n += 1;
  }
  return n;
}
