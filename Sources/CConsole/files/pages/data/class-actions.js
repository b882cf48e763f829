/** What keys and menus do on the rows of a class. */

import { addKeys } from "../../core/keys.js";
import { address, go } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { t } from "../../core/words.js";
import { typeOf } from "../../data/schema.js";
import "../../data/words.js";

/** Adds the keys of the page, and what the grid asks for beyond single cells. */
export function gridKeys(page) {
  const { grid, className, scope } = page;
  page.openActive = () => {
    const row = grid.activeRow;
    const value = row?.values.get(grid.activeColumn?.name);
    if (typeOf(value) === "Pointer") go(address("data", [value.className, value.objectId]));
    else if (row) go(address("data", [className, row.id]));
  };
  page.openRow = (row) => go(address("data", [className, row.id]));
  page.deleteSelected = async () => {
    const rows = grid.selected.size > 0 ? [...grid.selected.values()] : [grid.activeRow].filter(Boolean);
    const { deleteRows } = await import("../../data/batches.js");
    await deleteRows(page, rows);
  };
  page.selectLoaded = () => {
    for (const row of page.rows.loaded()) grid.selected.set(row.id, row);
    grid.later();
    page.moved();
  };
  page.copy = async (event) => (await clipboard).copyRange(grid, event);
  page.paste = async (event) => {
    const text = event.clipboardData?.getData("text/plain");
    event.preventDefault();
    if (text && mayWrite()) (await clipboard).pasteText(page, text);
  };
  // A copy must be written while the event lasts, so the module is there before.
  const clipboard = import("../../data/clipboard.js").then((module) => {
    page.copy = (event) => module.copyRange(grid, event);
    return module;
  });
  page.toggleInspector = async () => (await import("./inspector.js")).toggle(page);
  const filterCell = async () => (await import("../../data/filter/chips.js")).filterByCell(page);
  addKeys(t("grid.label", { class: className }), {
    "Enter / F2": { words: t("keys.edit") },
    "Mod+Enter": { words: t("keys.openObject"), do: () => page.openActive() },
    "Tab / Esc": { words: t("keys.tab") },
    Space: { words: t("keys.select") },
    "Shift+ArrowDown / Shift+ArrowUp": { words: t("keys.range") },
    "Mod+c / Mod+v": { words: t("keys.copy") },
    Delete: { words: t("keys.clear") },
    "Alt+f": { words: t("keys.filterCell"), do: filterCell },
    f: { words: t("keys.filterCell"), do: filterCell },
    "Alt+n": { words: t("grid.new"), do: () => mayWrite() && import("../../data/new-object.js").then(({ openNew }) => openNew(page)) },
    "Alt+r": { words: t("grid.refresh"), do: () => page.reload() },
    i: { words: t("keys.inspector"), do: () => page.toggleInspector() },
    "Alt+i": { words: t("keys.inspector"), do: () => page.toggleInspector() },
  }, scope);
}
