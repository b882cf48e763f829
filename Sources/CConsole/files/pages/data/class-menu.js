/** What can be done with all rows that fit the filter. */

import { mayChangeClasses, mayWrite } from "../../core/session.js";
import { addWords, t } from "../../core/words.js";
import { deleteView } from "../../data/views.js";
import { openMenu } from "../../parts/menu.js";
import { toast } from "../../parts/toast.js";
import { address, go } from "../../core/router.js";
import "../../data/filter/words.js";
import "../../data/words.js";

addWords({
  "menu.setAll": "Set a field of all {n} …",
  "menu.deleteAll": "Delete all {n} …",
  "menu.newField": "New field …",
  "menu.saveView": "Save this view …",
  "menu.inspector": "Inspector",
});

/** Opens the menu of a class. */
export function open(page, anchor) {
  const n = page.rows.total ?? 0;
  openMenu(anchor, [
    { words: t("menu.inspector"), icon: "panel", keys: "i", do: () => page.toggleInspector?.() },
    mayChangeClasses() && { words: t("menu.newField"), icon: "plus", do: () => page.newField() },
    mayWrite() && { words: t("menu.saveView"), icon: "bookmark", do: async () => (await import("../../data/filter/save-view.js")).saveView(page) },
    page.view && { words: t("view.delete"), icon: "close", do: async () => {
      await deleteView(page.view.id);
      toast(t("view.deleted", { name: page.view.name }));
      go(address("data", [page.className]));
    } },
    mayWrite() && n > 0 && null,
    mayWrite() && n > 0 && { words: t("menu.setAll", { n }), icon: "columns", do: async () => (await import("../../data/bulk.js")).openBulk(page, "all") },
    mayWrite() && n > 0 && { words: t("menu.deleteAll", { n }), icon: "trash", isDanger: true, do: async () => (await import("../../data/bulk.js")).deleteAll(page) },
  ].filter((row) => row === null || row), { label: t("grid.more") });
}
