/** The rows of a class with a filter and an order, loaded in pages as they are viewed. */

import { objectPath, parse, POLL, SHORTEN } from "../core/api.js";
import { signal } from "../core/signal.js";

/** The number of rows per page. */
export const PAGE = 200;

/** Returns the user in the address whose view is shown, or undefined if the id can't be in a header field. */
export const eyesOf = (query) => (/^[\x21-\x7e]{1,200}$/.test(query.get("as") ?? "") ? query.get("as") : undefined);

/** A row. Its values are in a Map by field, because field names are untrusted. */
export class Row {
  constructor(object) {
    this.take(object);
    this.version = 0;
  }

  take(object) {
    this.id = object.objectId;
    this.values = new Map(Object.entries(object));
    this.version += 1;
  }

  get updatedAt() { return this.values.get("updatedAt"); }

  set(field, value) {
    if (value === undefined) this.values.delete(field);
    else this.values.set(field, value);
    this.version += 1;
  }

  object() { return Object.fromEntries(this.values); }
}

const isNewestFirst = (order) => order === "-createdAt";
const reversed = (order) => order.split(",").map((key) => (key.startsWith("-") ? key.slice(1) : "-" + key)).join(",");
const both = (where, edge) => (Object.keys(where).length === 0 ? edge : { $and: [where, edge] });

/** Returns the rows that were changed or deleted elsewhere. */
export async function changedOf(path, rows, signal) {
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return [];
  const { body } = await parse.get(path, { where: { objectId: { $in: ids } }, keys: "updatedAt", limit: ids.length }, { signal, headers: POLL });
  const now = new Map(body.results.map(({ objectId, updatedAt }) => [objectId, updatedAt]));
  // Changes that are being stored from here don't count.
  return rows.filter((row) => {
    row.isGone = !now.has(row.id);
    return !row.unstored?.length && !(now.get(row.id) <= row.updatedAt);
  });
}

/** The rows of one class; `changed` notifies of everything that affects the display. */
export class Rows {
  constructor(className, { where = {}, order = "-createdAt", keys, path = objectPath(className), as }) {
    Object.assign(this, { className, where, order, keys, path });
    /** The user whose view is shown: an id, "anonymous", or nothing for the operator. */
    this.eyes = as ? { "X-Roost-View-As": as } : {};
    this.fullOrder = isNewestFirst(order) ? "-createdAt,-objectId" : order.includes("objectId") ? order : `${order},objectId`;
    this.pages = new Map();
    this.running = new Map();
    this.changed = signal(0);
    this.total = undefined;
    this.isCounted = false;
    this.problem = null;
    this.slowest = 0;
    this.scope = new AbortController();
  }

  notify() { this.changed.set(this.changed.peek() + 1); }

  /** The number of rows: the count, or the known minimum until then. */
  get length() {
    if (this.total !== undefined) return this.total;
    const last = Math.max(-1, ...this.pages.keys());
    return last < 0 ? 0 : last * PAGE + this.pages.get(last).length;
  }

  get isLoaded() { return this.pages.size > 0; }

  at(index) { return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE]; }

  indexOf(id) {
    for (const [number, page] of this.pages) {
      const place = page.findIndex((row) => row.id === id);
      if (place >= 0) return number * PAGE + place;
    }
    return -1;
  }

  * loaded() {
    for (const page of this.pages.values()) yield* page;
  }

  /** Loads the first page or that of an index, then counts. */
  async begin(index = 0) {
    await this.read(Math.floor(index / PAGE));
    if (this.problem === null) await this.count();
  }

  async count() {
    const first = this.pages.get(0);
    if (first && first.length < PAGE) this.total = first.length;
    else {
      try {
        const { body } = await parse.get(this.path, { where: this.where, count: 1, limit: 0 }, { signal: this.scope.signal, headers: this.eyes });
        this.total = body.count;
      } catch (problem) {
        if (this.scope.signal.aborted) return;
        this.total ??= this.length;
      }
    }
    this.isCounted = true;
    this.notify();
  }

  /** Loads missing rows of a range and cancels requests for others. */
  want(from, to) {
    if (this.length === 0) return;
    const first = Math.floor(Math.max(0, from) / PAGE);
    const last = Math.floor(Math.max(0, Math.min(to, this.length - 1)) / PAGE);
    for (const [number, request] of this.running) {
      if (!this.isHeld && (number < first - 1 || number > last + 1)) request.abort();
    }
    for (let number = first; number <= last; number += 1) {
      if (!this.pages.has(number) && !this.running.has(number) && !this.problem) this.read(number);
    }
  }

  /** Returns the numbers of pages of a range that aren't loaded. */
  missing(from, to) {
    const first = Math.floor(from / PAGE);
    return Array.from({ length: Math.floor(to / PAGE) - first + 1 }, (_, index) => first + index).filter((number) => !this.pages.has(number));
  }

  /** Loads the missing rows of a range, even if the reader scrolls away. Returns whether all are loaded. */
  async readAll(from, to) {
    this.isHeld = true;
    for (const number of this.missing(from, to)) if (!this.problem) await this.read(number);
    this.isHeld = false;
    return this.missing(from, to).length === 0;
  }

  /** Returns the request for a page: next to a loaded page if possible, otherwise from the nearer end. */
  request(number) {
    if (!isNewestFirst(this.order)) {
      const isNearEnd = this.isCounted && number * PAGE > this.total / 2;
      return isNearEnd ? this.fromEnd(number) : { where: this.where, order: this.fullOrder, skip: number * PAGE, limit: PAGE };
    }
    const before = this.pages.get(number - 1)?.at(-1);
    if (before) return { where: both(this.where, edge(before, "$lt")), order: this.fullOrder, limit: PAGE };
    const after = this.pages.get(number + 1)?.[0];
    if (after) return { where: both(this.where, edge(after, "$gt")), order: reversed(this.fullOrder), limit: PAGE, isReversed: true };
    if (this.isCounted && number * PAGE > this.total / 2) return this.fromEnd(number);
    // Rows created since the first page was loaded must not shift later pages.
    const top = this.pages.get(0)?.[0];
    const where = top && number > 0 ? both(this.where, { createdAt: { $lte: isoDate(top.values.get("createdAt")) } }) : this.where;
    return { where, order: this.fullOrder, skip: number * PAGE, limit: PAGE };
  }

  fromEnd(number) {
    const limit = Math.min(PAGE, this.total - number * PAGE);
    return { where: this.where, order: reversed(this.fullOrder), skip: this.total - number * PAGE - limit, limit, isReversed: true };
  }

  async read(number) {
    const control = new AbortController();
    this.running.set(number, control);
    const { isReversed, ...query } = this.request(number);
    const began = performance.now();
    try {
      const { body } = await parse.get(this.path, { ...query, keys: this.keys }, {
        signal: AbortSignal.any([control.signal, this.scope.signal]), headers: { ...SHORTEN, ...this.eyes },
      });
      const page = body.results.map((object) => new Row(object));
      if (isReversed) page.reverse();
      this.pages.set(number, page);
      this.slowest = Math.max(this.slowest, query.skip === undefined && number > 0 ? 0 : performance.now() - began);
    } catch (problem) {
      if (!control.signal.aborted && !this.scope.signal.aborted) this.problem = problem;
    } finally {
      if (this.running.get(number) === control) this.running.delete(number);
    }
    if (!this.scope.signal.aborted) this.notify();
  }

  /** Returns the number of objects created since the first row was loaded. For other orders, returns the increase of the count. */
  async countNewer(signal) {
    const top = isNewestFirst(this.order) && this.pages.get(0)?.[0];
    const { body } = await parse.get(this.path, { where: top ? both(this.where, edge(top, "$gt")) : this.where, count: 1, limit: 0 }, { signal, headers: POLL });
    return Math.max(0, (body.count ?? 0) - (top ? 0 : this.total));
  }

  /** Returns the loaded rows of a range that were changed or deleted elsewhere. */
  async findChanged(from, to, signal) {
    const rows = [];
    for (let index = from; index <= to; index += 1) if (this.at(index)) rows.push(this.at(index));
    return (await changedOf(this.path, rows, signal)).filter(({ id }) => this.indexOf(id) >= 0);
  }

  /** Inserts a row at an index, such as a new object at the top. */
  insert(row, index = 0) {
    this.splice(index, 0, row);
  }

  remove(id) {
    const index = this.indexOf(id);
    if (index >= 0) this.splice(index, 1);
    return index;
  }

  /** Later pages are reloaded only if they are no longer contiguous. */
  splice(index, removed, ...added) {
    const number = Math.floor(index / PAGE);
    const following = [];
    for (let next = number; this.pages.has(next); next += 1) {
      following.push(...this.pages.get(next));
    }
    following.splice(index - number * PAGE, removed, ...added);
    for (const key of [...this.pages.keys()]) if (key >= number) this.pages.delete(key);
    const count = this.total === undefined ? undefined : this.total + added.length - removed;
    if (count !== undefined) this.total = count;
    for (let from = 0; from < following.length; from += PAGE) {
      const page = following.slice(from, from + PAGE);
      this.pages.set(number + from / PAGE, page);
      // A page that lost a row, without a following page to fill it from, is reloaded.
      if (page.length < PAGE && count !== undefined && number * PAGE + from + page.length < count) this.read(number + from / PAGE);
    }
    this.notify();
  }

  /** Cancels all requests. */
  end() { this.scope.abort(); }
}

const views = new Set();

/**
 * Registers a view of a class's objects until `scope` ends: `{ className, find(id), notify(), remove(id), reload() }`. An undo may run
 * after the rows of its change were replaced.
 */
export function showObjects(view, scope) {
  views.add(view);
  scope.addEventListener("abort", () => views.delete(view));
}

/** Returns the current views of a class's objects. */
export const viewsOf = (className) => [...views].filter((view) => view.className === className);

function isoDate(value) {
  return { __type: "Date", iso: typeof value === "string" ? value : value.iso };
}

/** Returns a condition for rows before or after a row in creation order, including an outer bound that can use an index. */
function edge(row, operator) {
  const at = isoDate(row.values.get("createdAt"));
  return {
    createdAt: { [operator + "e"]: at },
    $or: [{ createdAt: { [operator]: at } }, { objectId: { [operator]: row.id } }],
  };
}
