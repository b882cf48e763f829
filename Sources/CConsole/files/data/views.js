/** Saved views: a filter, an order and columns under a name. */

import { objectPath, parse, send } from "../core/api.js";
import { signal } from "../core/signal.js";

/** The views of the operator, and those that are shared. */
export const savedViews = signal([]);

/** Reads the views, then how many objects each has. */
export async function loadViews() {
  try {
    const { body } = await send("GET", "views");
    savedViews.set(body.views);
  } catch {
    return;
  }
  await Promise.all(savedViews.peek().slice(0, 30).map(async (view) => {
    try {
      const { body } = await parse.get(objectPath(view.className), { where: view.where ?? {}, count: 1, limit: 0 });
      savedViews.set(savedViews.peek().map((other) => (other.id === view.id ? { ...other, count: body.count } : other)));
    } catch {
      // A view whose fields are gone has no number.
    }
  }));
}

/** Keeps a view, a new one under an id of its own. */
export async function keepView(view) {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const id = view.id ?? [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => letters[byte % 36]).join("");
  await send("PUT", `views/${id}`, { body: { ...view, id } });
  await loadViews();
  return id;
}

/** Takes a view away. */
export async function deleteView(id) {
  await send("DELETE", `views/${id}`);
  savedViews.set(savedViews.peek().filter((view) => view.id !== id));
}
