/** The editor of values that need room, beside the page: which one fits a type. */

import { button, h } from "../../core/dom.js";
import { plain } from "../../core/text.js";
import { addWords, t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";
import { nameOfRow } from "../save.js";
import "../words.js";

addWords({
  "sheet.title": "{field} of {object}",
});

const EDITORS = {
  String: () => import("./text.js"),
  Array: () => import("./json.js"),
  Object: () => import("./json.js"),
  Polygon: () => import("./polygon.js"),
  Bytes: () => import("./bytes.js"),
  File: () => import("./file.js"),
  Relation: () => import("./relation.js"),
  ACL: () => import("./access.js"),
};

/**
 * Opens the sheet of a field. `save(change)` is called with what `saveField` takes.
 * An editor gives `{ body, read() }`, where `read` gives a change, or null for none, and throws what is wrong; or `{ body }`
 * where it saves by itself.
 */
export async function openSheet({ className, row, field, value, text, save, grid }) {
  const { edit } = await (EDITORS[field.type] ?? EDITORS.Object)();
  await openDialog({ title: t("sheet.title", { field: field.name, object: nameOfRow(className, row) }), kind: "sheet" }, (close, dialog) => {
    const problem = h("p.problem", { role: "alert" });
    const editor = edit({ className, row, field, value, text, save, grid, close, dialog });
    const finish = () => {
      let change;
      try {
        change = editor.read();
      } catch (refusal) {
        problem.textContent = plain(refusal.message, 300);
        editor.focus?.();
        return;
      }
      if (change) save(change);
      close();
    };
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && editor.read) {
        event.preventDefault();
        finish();
      }
    });
    return {
      body: [editor.body, problem],
      foot: editor.read ? [editor.extra, button(".button", () => close(), t("cancel")), button(".button.primary", finish, t("edit.save"))]
        : button(".button.primary", () => close(), t("close")),
    };
  });
}
