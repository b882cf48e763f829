/** Actions on rows: shortcuts, the line below the grid, and the offer to show new objects. */

import { poll } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go } from "../../core/router.js";
import { mayChangeClasses, mayWrite } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { addWords, number, plain, t } from "../../core/words.js";
import { build, mayBuild, missingIndex } from "../../data/indexing.js";
import { changedClass, counts, typeOf } from "../../data/schema.js";
import { complain, offer, toast } from "../../parts/states.js";

addWords({
  "keys.edit": "Edit the cell", "keys.openObject": "Open the object, or what the pointer leads to", "keys.tab": "Save and go right, drop the edit", "keys.select": "Select the row",
  "keys.range": "Select cells", "keys.copy": "Copy and paste cells", "keys.column": "Menu of the column: order, filter", "keys.clear": "Remove the value, or delete selected rows",
  "keys.filterCell": "Filter by this cell", "grid.slow": "Sorting by {field} read all {count} rows ({time} s).", "grid.buildIndex": "Build an index",
  "grid.slowFilter": "Filtering by {field} read all {count} rows ({time} s).", "grid.range": "{n} {n|cell|cells}", "grid.partly": "Of {n} loaded {n|cell|cells}:",
  "grid.sum": "Sum {sum} · mean {mean} · min {min} · max {max}", "grid.newRows": "{n} new", "grid.newFields": "{n} new {n|field|fields}", "foot.set": "Set a field",
  "foot.add": "Add to …", "foot.call": "Call a function", "import.left": "The import of {name} ended when its browser tab closed: {n} {n|row was|rows were} imported.",
});

/** Adds the shortcuts of the page and the grid's actions beyond single cells. */
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
  // Preloaded, because copying must happen during the event.
  const clipboard = import("../../data/clipboard.js").then((module) => {
    page.copy = (event) => module.copyRange(grid, event);
    return module;
  });
  page.toggleInspector = async () => (await import("./object-view.js")).toggle(page);
  const filterCell = async () => (await import("../../data/filter/chips.js")).filterByCell(page);
  addKeys(t("grid.label", { class: className }), {
    "Enter / F2": { words: t("keys.edit") },
    "Mod+Enter": { words: t("keys.openObject"), do: () => page.openActive() },
    "Tab / Esc": { words: t("keys.tab") },
    Space: { words: t("keys.select") },
    "Shift+ArrowDown / Shift+ArrowUp": { words: t("keys.range") },
    "Mod+c / Mod+v": { words: t("keys.copy") },
    "Alt+ArrowDown": { words: t("keys.column") },
    Delete: { words: t("keys.clear") },
    "Alt+f": { words: t("keys.filterCell"), do: filterCell },
    f: { words: t("keys.filterCell"), do: filterCell },
    "Alt+n": { words: t("grid.new"), do: () => page.create() },
    "Alt+r": { words: t("grid.refresh"), do: () => page.reload() },
    i: { words: t("word.inspector"), do: () => page.toggleInspector() },
    "Alt+i": { words: t("word.inspector"), do: () => page.toggleInspector() },
  }, scope);
}

const SLOW = 300;

/** Fills the line below the grid, and hides it if it is empty. */
export function watchFoot(page) {
  const element = page.foot;
  page.moved = () => draw(page, element);
  effect(() => {
    page.current().changed();
    draw(page, element);
  }, page.scope);
}

function draw(page, element) {
  const { grid, rows } = page;
  const parts = [];
  if (grid.selected?.size > 0) parts.push(...selection(page));
  else if (grid.anchor) parts.push(...sums(grid));
  else if (page.building) parts.push(page.building);
  else if (rows.slowest > SLOW && rows.isCounted) {
    const lacks = missingIndex(page.className, page.where, page.order);
    if (lacks) parts.push(...slowFind(page, lacks));
  }
  put(element, parts);
  element.hidden = parts.length === 0;
}

function selection(page) {
  const n = page.grid.selected.size;
  const mayChange = mayWrite() && !page.as;
  return [
    h("strong", t("word.selected", { n })),
    mayChange && button(".plain", async () => (await import("../../data/bulk.js")).openBulk(page, "selected"), icon("columns"), t("foot.set")),
    mayChange && button(".plain", async () => (await import("../../data/bulk.js")).openBulk(page, "selected", "ACL"), icon("shield"), t("rail.access")),
    mayChange && button(".plain", async () => (await import("../../data/bulk.js")).openAdding(page, "selected"), icon("link"), t("foot.add")),
    mayChange && mayChangeClasses() && button(".plain", async () => (await import("../../data/bulk.js")).openCalling(page, "selected"), icon("cloud"), t("foot.call")),
    mayChange && button(".plain.bad", () => page.deleteSelected(), icon("trash"), t("delete")),
    h(".space"),
    button(".plain", () => page.grid.clearSelection(), t("word.clear")),
  ];
}

const MOST = 5000;

function sums(grid) {
  const { from, to } = grid.range();
  const numbers = [];
  let read = 0;
  for (let row = from.row; row <= Math.min(to.row, from.row + MOST); row += 1) {
    const values = grid.rows.at(row)?.values;
    if (values) read += 1;
    for (let column = from.column; values && column <= to.column; column += 1) {
      const value = values.get(grid.columns[column].name);
      if (typeof value === "number") numbers.push(value);
    }
  }
  const wide = to.column - from.column + 1;
  const cells = (to.row - from.row + 1) * wide;
  const sum = numbers.reduce((left, right) => left + right, 0);
  const round = (value) => (Math.abs(value) < 1e12 ? value.toLocaleString("en", { maximumFractionDigits: 4 }) : number(Number(value.toPrecision(12))));
  return [h("span", t("grid.range", { n: cells })), h(".space"), read * wide < cells && h("span.warn", t("grid.partly", { n: read * wide })), numbers.length > 0 && h("span.number", t("grid.sum", {
    sum: round(sum), mean: round(sum / numbers.length), min: number(Math.min(...numbers)), max: number(Math.max(...numbers)),
  }))];
}

function slowFind(page, lacks) {
  const seconds = (page.rows.slowest / 1000).toFixed(1);
  const fields = lacks.map((name) => name.replace(/^-/, "")).join(", ");
  const all = counts().get(page.className)?.objects ?? page.rows.total;
  const go = mayChangeClasses() && button(".button", async () => {
    if (!(await mayBuild(page.className, lacks))) return;
    const work = build(page.className, lacks);
    page.building = work.element;
    page.moved();
    try {
      const done = await work.finished;
      if (!done) toast(t("index.stopped"));
      if (done && !page.scope.aborted) page.reload();
    } catch (problem) {
      complain(problem);
    }
    page.building = undefined;
    page.moved();
  }, t("grid.buildIndex"));
  return [icon("warn"), h("span", t(page.order === "-createdAt" ? "grid.slowFilter" : "grid.slow", { field: fields, count: all, time: seconds })), h(".space"), go];
}

/** Checks for new objects while the page is watched, less often if responses are slow. */
export function watchNewer(page) {
  poll(async () => {
    const { rows } = page;
    if (!rows.isCounted) return;
    const { firstRow, lastRow } = page.grid.geometry?.view(rows.length) ?? { firstRow: 0, lastRow: -1 };
    const [added, changed, changedTo] = await Promise.all([rows.countNewer(page.scope), rows.findChanged(firstRow, lastRow, page.scope), changedClass(page.className)]);
    if (rows !== page.rows) return;
    const fields = Object.keys(changedTo?.fields ?? {}).filter((name) => !page.description.fields.has(name)).length;
    const gone = changed.filter(({ isGone }) => isGone).length;
    if (rows.length === 0 && added + fields > 0) page.reload();
    else offer(page.newer, [["grid.changedRows", changed.length - gone], ["grid.goneRows", gone], ["grid.newRows", added], ["grid.newFields", fields]].filter(([, n]) => n > 0).map(([words, n]) => t(words, { n })).join(", "), () => {
      if (added > 0) page.grid.moveTo(0, page.grid.active.column);
      page.reload();
    });
  }, page.scope);
}

const KEY = "roost.import";
/** The milliseconds without progress after which an import counts as ended. */
const SILENCE = 5000;

/** Records that an import is running. It ends when its tab is closed: the browser asks before, and the page reports afterward. */
export function startNote(className, name) {
  let stored = 0;
  let isLeft = false;
  const write = () => localStorage.setItem(KEY, JSON.stringify({ className, name, stored, at: Date.now() }));
  const ask = (event) => event.preventDefault();
  const leave = ({ type }) => { isLeft = type === "pagehide"; };
  write();
  addEventListener("beforeunload", ask);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", leave);
  const timer = setInterval(write, 1000);
  return {
    update(n) {
      stored = n;
      write();
    },
    /** If the page is being closed, its requests fail too. That must not look like the end of the import. */
    end() {
      if (isLeft) return;
      clearInterval(timer);
      removeEventListener("beforeunload", ask);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", leave);
      localStorage.removeItem(KEY);
    },
  };
}

/** Reports how many rows an import of the class had stored when its tab was closed. */
export function tellImport({ className, scope }) {
  let left;
  try {
    left = JSON.parse(localStorage.getItem(KEY));
  } catch {
    localStorage.removeItem(KEY);
  }
  if (left?.className !== className || scope.aborted) return;
  const rest = Math.min(SILENCE, left.at + SILENCE - Date.now());
  if (rest > 0) {
    setTimeout(() => tellImport({ className, scope }), rest);
    return;
  }
  localStorage.removeItem(KEY);
  toast(t("import.left", { name: plain(left.name, 60), n: Number(left.stored) || 0 }), { seconds: 60 });
}
