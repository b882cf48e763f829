/** The menus of a class: actions on all rows, visible columns, the menu of a column, and exports. */

import { download, send } from "../../core/api.js";
import { button, h, icon, labelled, option, problemLine, put } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { mayChangeClasses, mayWrite, session } from "../../core/session.js";
import { addWords, plain, t, zone } from "../../core/words.js";
import "../../data/filter/model.js";
import { choices, choose, deleteView, ranked, visible } from "../../data/schema.js";
import { openDialog, openMenu, openPanel } from "../../parts/dialog.js";
import { complain, record } from "../../parts/states.js";

addWords({
  "grid.ascending": "Sort ascending", "grid.descending": "Sort descending", "grid.unsort": "Newest first", "grid.hide": "Hide column",
  "filter.byField": "Filter by {field}", "menu.setAll": "Set a field of all {n} …", "menu.accessAll": "Set the permissions of all {n} …",
  "menu.addAll": "Add all {n} to a relation or role …", "menu.callAll": "Call a function for all {n} …", "menu.deleteAll": "Delete all {n} …",
  "menu.newField": "New field …", "menu.saveView": "Save this view …", "menu.export": "Export …", "menu.viewAs": "View as …", "menu.import": "Import …",
});

export function open(page, anchor) {
  const n = page.rows.total ?? 0;
  // Another user's view is read-only.
  const mayChange = mayWrite() && !page.as;
  openMenu(anchor, [
    { words: t("word.inspector"), icon: "panel", keys: "i", do: () => page.toggleInspector?.() },
    { words: t("menu.viewAs"), icon: "users", do: async () => (await import("../access/index.js")).openViewing(page) },
    mayChangeClasses() && { words: t("menu.newField"), icon: "plus", do: () => page.newField() },
    mayWrite() && { words: t("menu.saveView"), icon: "bookmark", do: async () => (await import("../../data/filter/chips.js")).saveView(page) },
    page.view?.owner === session.peek().operator.name && { words: t("view.delete"), icon: "close", do: () => deleteView(page.view.id).then(() => {
      record(t("view.deleted", { name: page.view.name }));
      go(address("data", [page.className]));
    }, complain) },
    null,
    ...["schema", "access"].map((name) => ({ words: t("rail." + name), icon: name === "schema" ? name : "shield", do: () => go(address(name, [page.className])) })),
    null,
    !page.as && { words: t("menu.export"), icon: "down", do: () => openExport(page) },
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

addWords({
  "export.title": "Export {class}", "export.filtered": "those that match the filter", "export.shownFields": "those that are shown", "export.form": "Format",
  "export.csv": "CSV, for spreadsheets", "export.ndjson": "JSON, one object per line", "export.exact": "Exact values",
  "export.exactHint": "Otherwise texts like formulas get an apostrophe.", "export.go": "Export", "export.of": "{done} of {total} sent",
  "export.waiting": "Waiting for the browser to take the file…", "export.done": "{n} {n|object|objects} exported.",
  "export.stopped": "Stopped: the file is not complete.",
});

function openExport(page) {
  const { className, where, order, columns, description, grid } = page;
  const selected = [...(grid?.selected?.keys() ?? [])];
  const isFiltered = Object.keys(where).length > 0;
  let stop;
  return openDialog({ title: t("export.title", { class: className }), mayClose: () => !stop || (stop(), false) }, (close) => {
    const rows = h("select", { autofocus: true }, selected.length > 0 && option("selected", t("word.selected", { n: selected.length }), true), isFiltered && option("filtered", t("export.filtered")), option("all", t("word.all")));
    const fields = h("select", option("shown", t("export.shownFields")), option("all", t("word.all")));
    const exact = h("input", { type: "checkbox" });
    const exactRow = h("div", h("label.line", exact, t("export.exact")), h("p.quiet", t("export.exactHint")));
    const form = h("select", { onchange: () => { exactRow.hidden = form.value !== "csv"; } }, option("csv", t("export.csv")), option("json", t("word.json")), option("ndjson", t("export.ndjson")));
    const problem = problemLine();
    const host = h(".form", labelled(t("word.rows"), rows), labelled(t("word.fields"), fields), labelled(t("export.form"), form), exactRow, problem);
    const foot = h(".line.wrap.grow");
    const begin = async () => {
      put(problem);
      const all = fields.value === "all" ? ranked(description) : columns;
      const keys = all.filter(({ type }) => type !== "Password" && (form.value !== "csv" || type !== "Relation")).map(({ name }) => name);
      const wanted = rows.value === "selected" ? { objectId: { $in: selected } } : rows.value === "filtered" ? where : {};
      const body = { className, where: wanted, order, keys, format: form.value, safe: !exact.checked };
      go.disabled = true;
      try {
        const { body: item } = await send("POST", "exports", { body });
        stop = () => send("DELETE", "exports/" + encodeURIComponent(item.id)).catch(() => {});
        download(item.url, `${className}.${form.value}`);
        await follow(item, host, foot, () => stop());
      } catch (refusal) {
        put(problem, plain(refusal.message, 300));
        if (!stop) {
          go.disabled = false;
          return;
        }
        put(host, problem);
      } finally {
        stop = undefined;
      }
      put(foot, button(".button.primary", () => close(), t("close")));
      foot.firstChild.focus();
    };
    const go = button(".button.primary", begin, t("export.go"));
    put(foot, button(".button", () => close(), t("cancel")), go);
    return { body: [host], foot: [foot] };
  });
}

async function follow(first, host, foot, stop) {
  const bar = h("progress", { max: String(Math.max(1, first.total)), value: 0, "aria-label": t("export.go") });
  const words = h("p", { role: "status" }, t("export.waiting"));
  put(host, bar, words);
  put(foot, button(".button", stop, t("word.stop")));
  foot.firstChild.focus();
  let item = first;
  while (item.state === "waiting" || item.state === "running") {
    item = (await send("GET", "exports/" + encodeURIComponent(first.id), { query: { wait: 5 } })).body;
    bar.value = item.done;
    if (item.state === "running") put(words, t("export.of", { done: item.done, total: item.total }));
  }
  put(words, item.state === "done" ? t("export.done", { n: item.done }) : item.state === "cancelled" ? t("export.stopped") : plain(item.message || t("export.stopped"), 300));
}
