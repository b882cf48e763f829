/** The menus of a class: actions on all rows, visible columns, and the menu of a column. */

import { button, h, icon, put } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { mayChangeClasses, mayWrite, session } from "../../core/session.js";
import { addWords, plain, t, zone } from "../../core/words.js";
import "../../data/filter/model.js";
import { choices, choose, deleteView, ranked, visible } from "../../data/schema.js";
import { openMenu, openPanel } from "../../parts/dialog.js";
import { complain, toast } from "../../parts/states.js";

addWords({
  "grid.ascending": "Sort ascending", "grid.descending": "Sort descending", "grid.unsort": "Newest first", "grid.hide": "Hide column",
  "filter.byField": "Filter by {field}", "menu.setAll": "Set a field of all {n} …", "menu.accessAll": "Set the permissions of all {n} …",
  "menu.addAll": "Add all {n} to a relation or role …", "menu.callAll": "Call a function for all {n} …", "menu.deleteAll": "Delete all {n} …",
  "menu.newField": "New field …", "menu.saveView": "Save this view …", "menu.export": "Export …", "menu.viewAs": "View as …", "menu.import": "Import …",
});

/** Opens the menu of a class. */
export function open(page, anchor) {
  const n = page.rows.total ?? 0;
  // Another user's view is read-only.
  const mayChange = mayWrite() && !page.as;
  openMenu(anchor, [
    { words: t("word.inspector"), icon: "panel", keys: "i", do: () => page.toggleInspector?.() },
    { words: t("menu.viewAs"), icon: "users", do: async () => (await import("../access/eyes.js")).openViewing(page) },
    mayChangeClasses() && { words: t("menu.newField"), icon: "plus", do: () => page.newField() },
    mayWrite() && { words: t("menu.saveView"), icon: "bookmark", do: async () => (await import("../../data/filter/chips.js")).saveView(page) },
    page.view?.owner === session.peek().operator.name && { words: t("view.delete"), icon: "close", do: () => deleteView(page.view.id).then(() => {
      toast(t("view.deleted", { name: page.view.name }));
      go(address("data", [page.className]));
    }, complain) },
    null,
    ...["schema", "access"].map((name) => ({ words: t("rail." + name), icon: name === "schema" ? name : "shield", do: () => go(address(name, [page.className])) })),
    null,
    !page.as && { words: t("menu.export"), icon: "down", do: async () => (await import("./export.js")).openExport(page) },
    mayChange && { words: t("menu.import"), icon: "up", do: async () => { if (await (await import("./import.js")).openImport(page.className)) page.reload(); } },
    mayChange && n > 0 && null,
    mayChange && n > 0 && { words: t("menu.setAll", { n }), icon: "columns", do: async () => (await import("../../data/bulk.js")).openBulk(page, "all") },
    mayChange && n > 0 && { words: t("menu.accessAll", { n }), icon: "shield", do: async () => (await import("../../data/bulk.js")).openBulk(page, "all", "ACL") },
    mayChange && n > 0 && { words: t("menu.addAll", { n }), icon: "link", do: async () => (await import("../../data/bulk.js")).openAdding(page, "all") },
    mayChange && mayChangeClasses() && n > 0 && { words: t("menu.callAll", { n }), icon: "cloud", do: async () => (await import("../../data/bulk.js")).openCalling(page, "all") },
    mayChange && n > 0 && { words: t("menu.deleteAll", { n }), icon: "trash", isDanger: true, do: async () => (await import("../../data/bulk.js")).deleteAll(page) },
  ].filter((row) => row === null || row), { label: t("grid.more") });
}

addWords({
  "columns.all": "Show all", "columns.left": "Move {field} to the left", "columns.right": "Move {field} to the right", "columns.utc": "Dates in UTC",
});

/** Opens the columns panel. Changes are displayed immediately. */
export function openColumns(page, anchor) {
  const { className, description, grid } = page;
  const list = h(".columns");
  const order = () => {
    const chosen = choices(className).order ?? [];
    const all = ranked(description).map(({ name }) => name);
    return [...chosen.filter((name) => all.includes(name)), ...all.filter((name) => !chosen.includes(name))];
  };
  const apply = (change) => {
    choose(className, change);
    page.columns = visible(description);
    draw();
    page.reload();
    grid.columns = page.columns;
    if (grid.isConnected) grid.columnsChanged();
  };
  const move = (name, step) => {
    const names = order();
    const from = names.indexOf(name);
    const to = from + step;
    if (to < 0 || to >= names.length) return;
    names.splice(to, 0, ...names.splice(from, 1));
    apply({ order: names });
    list.querySelector(`[data-move="${step}"][data-name="${CSS.escape(name)}"]`)?.focus();
  };
  const draw = () => {
    const hidden = choices(className).hidden ?? [];
    const arrow = (name, step, words, picture) => h("button.plain", { "data-move": step, "data-name": name, "aria-label": t(words, { field: name }), onclick: () => move(name, step) }, icon(picture));
    put(list, order().map((name) => h(".line", h("label.line.grow", h("input", {
      type: "checkbox", checked: !hidden.includes(name), disabled: name === "objectId",
      onchange: (event) => apply({ hidden: event.target.checked ? hidden.filter((other) => other !== name) : [...hidden, name] }),
    }), h("bdi", plain(name, 40))), arrow(name, -1, "columns.left", "up"), arrow(name, 1, "columns.right", "down"))));
  };
  draw();
  openPanel(anchor, h(".pad", list,
    h("label.line", h("input", { type: "checkbox", checked: zone.isUTC, onchange: (event) => { zone.isUTC = event.target.checked; grid.columnsChanged?.(); } }), t("columns.utc")),
    button(".button", () => apply({ hidden: [] }), t("columns.all"))), { label: t("grid.columns") });
}

/** Opens the menu of a column: order, filter, hiding. */
export function openColumnMenu(page, field, anchor) {
  const isSortable = !["Relation", "Object", "Array", "ACL", "Polygon", "Bytes", "File", "GeoPoint", "Password"].includes(field.type);
  openMenu(anchor, [
    isSortable && { words: t("grid.ascending"), icon: "up", isChecked: page.order === field.name || undefined, do: () => page.change({ order: field.name }) },
    isSortable && { words: t("grid.descending"), icon: "down", isChecked: page.order === "-" + field.name || undefined, do: () => page.change({ order: "-" + field.name }) },
    page.order !== "-createdAt" && { words: t("grid.unsort"), icon: "refresh", do: () => page.change({ order: "-createdAt" }) },
    null,
    field.type !== "Password" && { words: t("filter.byField", { field: field.name }), icon: "filter", do: () => page.addCondition?.(field.name) },
    field.name !== "objectId" && { words: t("grid.hide"), icon: "close", do: () => hide(page, field) },
  ].filter((row) => row !== false), { label: field.name });
}

function hide(page, field) {
  choose(page.className, { hidden: [...(choices(page.className).hidden ?? []), field.name] });
  page.columns = page.columns.filter(({ name }) => name !== field.name);
  page.grid.columns = page.columns;
  page.grid.columnsChanged();
}
