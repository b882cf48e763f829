/** The rows of one class: title, filter, grid and selection. */

import { button, h, icon, put } from "../../core/dom.js";
import { address, go, onLeave, remember, remembered, route } from "../../core/router.js";
import { mayChangeClasses, mayWrite } from "../../core/session.js";
import { effect, signal } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { takesTyping } from "../../data/grid-keys.js";
import "../../data/grid.js";
import { eyesOf, Rows, showObjects } from "../../data/rows.js";
import { changedClass, choices, choose, classes, counts, loadClasses, loadCounts, replaceClass, savedViews, visible } from "../../data/schema.js";
import { empty, failed, loading } from "../../parts/states.js";
let current;

/** Shows a class in an element until `scope` ends. */
export function openClass(host, className, scope) {
  const description = classes.peek().get(className);
  const query = route.peek().query;
  const where = readWhere(query.get("where"));
  const order = query.get("order") || "-createdAt";
  const view = savedViews.peek().find(({ id }) => id === query.get("view"));
  const hasColumns = view?.columns?.some((name) => description.fields.has(name));
  const columns = visible(description, hasColumns ? { order: view.columns, hidden: [...description.fields.keys()].filter((name) => !view.columns.includes(name)) } : undefined);
  const as = eyesOf(query);
  const page = { className, description, where, order, view, scope, columns, as };
  page.current = signal(newRows(page));
  Object.defineProperty(page, "rows", { get: page.current.peek });
  scope.addEventListener("abort", () => page.rows.end());
  page.grid = document.createElement("r-grid");
  page.grid.label = t("grid.label", { class: className });
  page.reload = () => reload(page);
  page.create = () => createObject(page);
  current = page;
  // Another user's view is read-only, and must not be updated with objects that the user can't read.
  if (!as) {
    showObjects({
      className, find: (id) => page.rows.at(page.rows.indexOf(id)), notify: () => page.rows.notify(), remove: (id) => page.rows.remove(id), reload: page.reload,
    }, scope);
  }
  page.newField = async () => (await import("../schema/index.js")).addField(className);
  page.change = (next) => go(address("data", [className], {
    where: Object.keys(next.where ?? where).length ? JSON.stringify(next.where ?? where) : undefined,
    order: (next.order ?? order) === "-createdAt" ? undefined : next.order ?? order,
    view: next.where || next.order ? undefined : query.get("view"),
    as: Object.hasOwn(next, "as") ? next.as : as,
  }));
  page.viewing = as && h(".viewing");
  page.body = h(".rows", loading());
  page.foot = h(".foot", { hidden: true });
  page.moved = () => {};
  put(host, header(page), page.viewing, filterBar(page), page.body, page.foot);
  host.classList.toggle("asAnother", Boolean(as));
  // Going back restores the active row and the scroll position.
  const keep = () => page.grid.isConnected && remember({ top: page.grid.geometry.topRow, active: page.grid.active });
  onLeave(keep, scope);
  addEventListener("pagehide", keep, { signal: scope });
  watchRows(page);
  begin(page, remembered());
  page.ready = followUp(page);
  if (as) viewing().then(({ tellViewing }) => tellViewing(page));
}

const viewing = () => import("../access/index.js");

/** Loads the modules for working with rows, once there are rows. */
async function followUp(page) {
  const [{ gridKeys, tellImport, watchFoot, watchNewer }, editing] = await Promise.all([import("./class-actions.js"), import("../../data/editing.js")]);
  if (page.scope.aborted) return;
  page.editing = editing;
  gridKeys(page);
  watchFoot(page);
  if (!page.as) watchNewer(page);
  tellImport(page);
  page.grid.dataset.isReady = "true";
}

const newRows = ({ className, where, order, columns, as }) => new Rows(className, { where, order, keys: keysOf(columns), as });

function readWhere(text) {
  try {
    const value = JSON.parse(text ?? "{}");
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** Rows contain no values of relations, and passwords are never sent. */
const keysOf = (columns) => columns.filter(({ type }) => type !== "Password").map(({ name }) => name).join(",");

function header(page) {
  const number = h("span.quiet.count", { "aria-live": "polite" });
  page.newer = h("span.newer");
  const isAll = Object.keys(page.where).length === 0 && !page.as;
  let n;
  let total;
  let listed;
  effect(() => {
    const rows = page.current();
    rows.changed();
    const entry = counts().get(page.className);
    // The header agrees with the list, which counts the objects that apps have added since.
    if (rows.total !== total) n = total = rows.total;
    else if (isAll && entry !== listed && !entry?.isEstimate) n = entry?.objects ?? n;
    listed = entry;
    put(number, rows.isCounted ? t("grid.objects", { n }) : "");
  }, page.scope);
  const tool = (name, words, action) => h(name === "more" ? "button.plain" : "button.plain.wide", { "aria-label": words, title: words, onclick: ({ currentTarget }) => action(currentTarget) }, icon(name));
  return h("header.head", h("a.plain.back", { href: address("data"), "aria-label": t("classes.label") }, icon("back")),
    h("h1", shown(page.className, 80)), number, page.newer, h(".space"),
    tool("refresh", t("grid.refresh"), () => page.reload()),
    tool("columns", t("grid.columns"), async (anchor) => (await import("./class-menu.js")).openColumns(page, anchor)),
    tool("more", t("grid.more"), async (anchor) => (await import("./class-menu.js")).open(page, anchor)),
    mayCreate(page) && button(".button.primary", page.create, icon("plus"), h("span.words", t("grid.new"))));
}

/** Sessions are created by log-ins. */
const mayCreate = ({ className, as }) => mayWrite() && className !== "_Session" && !as;

/** Opens the form for a new object, with the fields that apps added meanwhile. They open the page again. */
async function createObject(page) {
  if (!mayCreate(page)) return;
  const [{ openNew }, changed] = await Promise.all([import("./new.js"), changedClass(page.className).catch(() => {})]);
  if (page.scope.aborted) return;
  if (changed) replaceClass(changed);
  current.description = classes.peek().get(page.className);
  await openNew(current);
}

/** Loads rows, and returns to a position if given. */
async function begin(page, { top = 0, active } = {}) {
  const { rows, grid, scope } = page;
  await rows.begin(0);
  // An outdated load must not affect the displayed rows.
  if (scope.aborted || page.rows !== rows) return;
  if (rows.problem) {
    showProblem(page);
    return;
  }
  if (rows.length === 0) {
    showNothing(page);
    return;
  }
  if (!grid.isConnected) showGrid(page);
  if (top > 0) {
    // A canvas can't scroll before it is drawn.
    grid.geometry.setLength(rows.length);
    grid.geometry.moveRowTo(top, rows.length);
  }
  const { row, column } = active ?? grid.active;
  grid.active = { row: Math.min(row, rows.length - 1), column };
  grid.redraw();
  page.moved();
}

/** Inserts the grid once there are rows, before they are counted. An existing grid keeps its position. */
function showGrid(page) {
  if (page.grid.parentElement !== page.body) put(page.body, page.grid, page.inspectorElement);
  if (!page.isFitted) fit(page);
  page.grid.show(page.rows, page.columns, controller(page));
  if (document.activeElement?.matches("body, main, h1")) page.grid.focus({ preventScroll: true });
}

/** Fits columns of strings to their first values, unless the operator has chosen a width. */
function fit(page) {
  const { widths = {} } = choices(page.className);
  for (const column of page.columns) {
    if (column.type !== "String" || column.name === "objectId" || Object.hasOwn(widths, column.name)) continue;
    const values = Array.from({ length: 40 }, (_, index) => page.rows.at(index)?.values.get(column.name) ?? "");
    column.width = Math.min(320, 24 + 7.5 * Math.max(11, column.name.length, ...values.map((value) => (value.start ?? value).length)));
  }
  page.isFitted = true;
}

async function showNothing(page) {
  if (page.as) return (await viewing()).showRefusal(page);
  const isFiltered = Object.keys(page.where).length > 0;
  return put(page.body, !isFiltered && h("table.list", h("thead", h("tr", page.columns.map(({ name, type }) => h("th", { scope: "col" }, h("bdi", plain(name, 60)), " ", name !== type && h("small", type)))))), isFiltered
    ? empty({ picture: "filter", title: t("grid.nothing"), text: t("grid.nothingHint", { class: page.className }), actions: [
      button(".button", () => page.change({ where: {} }), t("grid.clearFilter"))] })
    : empty({ title: t("grid.empty"), text: t("grid.emptyHint"), actions: [
      mayCreate(page) && button(".button.primary", page.create, icon("plus"), t("grid.new")),
      mayChangeClasses() && button(".button", page.newField, t("grid.newField"))].filter(Boolean) }));
}

async function showProblem(page) {
  const { problem } = page.rows;
  if (page.as && problem.status >= 400 && problem.status < 500) await (await viewing()).showRefusal(page, problem);
  else put(page.body, failed(problem, page.reload));
}

function reload(page) {
  page.rows.end();
  page.grid.selected.clear();
  // Keeps the previous number until the rows are counted, so the position in the list is kept.
  page.current.set(Object.assign(newRows(page), { total: page.rows.total || undefined }));
  loadCounts();
  loadClasses();
  watchRows(page);
  begin(page);
}

/** Shows the first rows before they are counted, and notices when the last one disappears. */
function watchRows(page) {
  const { rows } = page;
  effect(() => {
    rows.changed();
    if (page.rows !== rows || page.scope.aborted) return;
    if (rows.problem && page.grid.isConnected) showProblem(page);
    else if (rows.isLoaded && rows.length > 0 && (!page.grid.isConnected || page.grid.rows !== rows)) showGrid(page);
    else if (rows.isCounted && rows.length === 0 && page.grid.isConnected) showNothing(page);
    // Replaced rows are no longer followed.
  }, rows.scope.signal);
}

function controller(page) {
  const { grid, className } = page;
  // Shortcuts pressed before their module is loaded are executed in order afterward.
  const whenReady = (action) => (page.editing ? action() : page.ready.then(action));
  return {
    edit: (place) => page.as || whenReady(() => page.editing.editCell(grid, className, place)),
    clear: () => page.as || whenReady(() => (grid.selected.size > 0 ? page.deleteSelected() : page.editing.clearCell(grid, className))),
    type: (key) => {
      const field = grid.activeColumn;
      if (!field || page.as || !takesTyping(className, field, key)) return false;
      whenReady(() => page.editing.editCell(grid, className, grid.active, key));
      return true;
    },
    open: () => whenReady(() => page.openActive()),
    openRow: (index) => whenReady(() => page.rows.at(index) && page.openRow(page.rows.at(index))),
    title: async (field, anchor) => (await import("./class-menu.js")).openColumnMenu(page, field, anchor),
    resized: (field) => choose(className, { widths: { ...choices(className).widths, [field.name]: field.width } }),
    moved: () => page.moved?.(),
    selectionChanged: () => page.moved?.(),
    selectAll: () => page.selectLoaded?.(),
    copy: (event) => page.copy?.(event),
    paste: (event) => page.as || page.paste?.(event),
    drawn: () => page.drawn?.(),
  };
}

/** Creates the filter bar of a page with `{ className, where, change(next) }`. */
function filterBar(page) {
  const element = h(".filters", { role: "group", "aria-label": t("filter.add") });
  const chips = () => import("../../data/filter/chips.js");
  const add = button(".plain.add", (event) => page.addCondition(undefined, event.currentTarget), icon("filter"), t("filter.add"));
  page.addCondition = async (field, anchor = add) => (await chips()).addCondition(page, anchor.isConnected ? anchor : element, field);
  page.addGroup = async (group) => (await chips()).addGroup(page, group);
  put(element, add);
  if (Object.keys(page.where).length > 0) chips().then(({ drawChips }) => drawChips(page, element));
  return element;
}
