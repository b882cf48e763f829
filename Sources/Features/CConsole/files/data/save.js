/** Saves one field: displays it immediately, stores it only if nobody else changed the object, and can undo it. */

import { objectPath, parse, SHORTEN } from "../core/api.js";
import { button, h } from "../core/dom.js";
import { addWords, ago, plain, t } from "../core/words.js";
import { firstButton, openDialog } from "../parts/dialog.js";
import { newChange, record, whileStoring } from "../parts/states.js";
import { drawValue } from "./cells.js";
import { viewsOf } from "./rows.js";
import { isShortened, learn, namingField } from "./schema.js";
import { copy, inWords, isEqual, noValue, setOwn } from "./values.js";

addWords({
  "edit.saved": "{field} of {object} saved", "edit.cleared": "{field} of {object} removed", "edit.undone": "{field} of {object} is {value} again",
  "edit.undoRefused": "Not undone: {field} was changed to {theirs} since; you had set {mine}.", "conflict.title": "Changed by someone else",
  "conflict.text": "{field} was changed {when}, while you edited it.", "conflict.theirs": "Theirs", "conflict.mine": "Yours", "conflict.keepTheirs": "Keep theirs",
  "conflict.keepMine": "Save yours",
});

const REMOVE = { __op: "Delete" };

/** Returns the name of an object for messages, or else its id or other words. */
export function nameOfRow(className, row, other = row.id) {
  const name = row.values.get(namingField(className));
  return plain((typeof name === "string" && name) || other, 40);
}

/** Returns the whole value of a field, fetched if the row has only its beginning. */
export async function wholeValue(className, row, field, signal) {
  const value = row.values.get(field);
  if (!isShortened(value)) return value;
  const { body } = await parse.get(objectPath(className, row.id), { keys: field }, { signal });
  return new Map(Object.entries(body)).get(field);
}

function at(value, path) {
  return path.reduce((inner, key) => (inner !== null && typeof inner === "object" && Object.hasOwn(inner, key) ? inner[key] : undefined), value);
}

/**
 * Saves a change of a field: `{ value }` (undefined removes), `{ amount }` (adds to a number), or `{ path, value }` (a member). Returns
 * whether it was stored. If it is rejected, restores the displayed value and calls `refused(problem)`.
 */
export function saveField({ className, rows, row, field, change, old = row.values.get(field.name), refused }) {
  if (change.amount === undefined && !change.path) change = { value: change.value === undefined ? noValue(field) : change.value };
  const mine = { field, change, number: newChange() };
  row.unstored = [...(row.unstored ?? []), mine];
  const work = inTurn(row, () => store({ className, rows, row, field, change, old, refused, mine }));
  show(row, field, change, old);
  rows?.notify();
  return whileStoring(work);
}

/** Runs changes of one object one after the other, because each is conditional on the previous one's result. */
function inTurn(row, work) {
  const result = (row.queue ?? Promise.resolve()).then(work);
  row.queue = result.catch(() => {});
  return result;
}

function show(row, field, change, old) {
  row.failed?.delete(field.name);
  if (field.type === "Password" || field.type === "Relation" || (change.path && isShortened(old))) return;
  if (change.amount !== undefined) row.set(field.name, (old ?? 0) + change.amount);
  else if (change.path) row.set(field.name, withMember(old, change.path, change.value));
  else row.set(field.name, change.value);
}

/** Displays the pending changes of a row, or of one of its fields. */
export function showUnstored(row, name) {
  for (const { field, change } of row.unstored ?? []) if (!name || name === field.name) show(row, field, change, row.values.get(field.name));
}

/** Replaces a row's values with the stored object, and redraws the pending changes on top. */
function retake(row, object) {
  row.take(object);
  for (const entry of row.unstored ?? []) entry.taken = object;
  showUnstored(row);
}

function settle(row, mine) {
  row.unstored = row.unstored.filter((other) => other !== mine);
  for (const entry of row.unstored) if (entry.field.name === mine.field.name) delete entry.taken;
}

/** Returns a copy of a value with the member at a path replaced; undefined removes it. */
export function withMember(old, path, value) {
  const whole = copy(old ?? {});
  let inner = whole;
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(inner, key)) setOwn(inner, key, {});
    inner = inner[key];
  }
  if (value === undefined) delete inner[path.at(-1)];
  else setOwn(inner, path.at(-1), value);
  return whole;
}

function bodyOf(field, change) {
  const key = change.path ? [field.name, ...change.path].join(".") : field.name;
  const value = change.amount !== undefined ? { __op: "Increment", amount: change.amount } : change.value === undefined ? REMOVE : change.value;
  return setOwn({}, key, value);
}

/** Returns the changed part of a value: all of it, or the member at a path. */
const partOf = (value, { path }) => (path ? at(value, path) : value);

const valueOf = (object, field) => new Map(Object.entries(object)).get(field.name);

async function store({ className, rows, row, field, change, old, refused, mine }) {
  const drop = () => { row.unstored = row.unstored.filter((other) => other !== mine); };
  let seen = partOf(old, change);
  let before = old;
  let body;
  try {
    body = await conditionalPut(className, row, () => bodyOf(field, change), (object) => {
      before = valueOf(object, field);
      const theirs = partOf(before, change);
      // Another field was changed, or our change arrived before the connection broke. Increments are always safe.
      return change.amount !== undefined || isEqual(theirs, seen) || isEqual(theirs, change.value) || isShortened(seen);
    }, async (object) => {
      const theirs = partOf(before, change);
      const isMine = await askWhoseValue({ field, theirs, mine: change.value, at: object.updatedAt });
      // A value that is overwritten on purpose is restored by undo.
      if (isMine) seen = theirs;
      else drop();
      return isMine;
    }, mine.taken);
  } catch (problem) {
    drop();
    // A later change of the same value stays displayed, with its own undo.
    const isShown = change.path || change.amount !== undefined || isEqual(row.values.get(field.name), change.value);
    if (isShown && (old === undefined || field.type !== "Password")) {
      row.set(field.name, field.type === "Password" ? undefined : before);
      showUnstored(row, field.name);
    }
    rows?.notify();
    refused?.(problem);
    return false;
  }
  if (body) settle(row, mine);
  else {
    row.set(field.name, before);
    showUnstored(row, field.name);
  }
  const answered = new Map(Object.entries(body ?? {}));
  if (answered.has(field.name) && change.amount !== undefined) row.set(field.name, answered.get(field.name));
  rows?.notify();
  if (body === null) return false;
  refreshOthers(className, row);
  const now = row.values.get(field.name);
  if (field.name === namingField(className)) learn(className, row.object());
  // An object whose name was just changed is identified by its class.
  const places = { field: field.name, object: field.name === namingField(className) ? className : nameOfRow(className, row, className) };
  const isRemoval = change.value === undefined && change.amount === undefined;
  // The previous password is unknown, so it can't be undone.
  record(t(isRemoval ? "edit.cleared" : "edit.saved", places), field.type !== "Password" && (() => undo({ className, rows, row, field, change, seen: change.amount === undefined ? seen : before, now, places })), mine.number);
  return true;
}

/**
 * Stores a row, retrying if somebody else's change does no harm. Returns null if the other's value is kept; `taken` is an object that
 * arrived in the meantime.
 */
export async function conditionalPut(className, row, bodyNow, isHarmless, ask = () => false, taken = undefined) {
  if (taken && !isHarmless(taken) && !(await ask(taken))) return null;
  for (;;) {
    const body = bodyNow();
    try {
      const answer = await parse.put(objectPath(className, row.id), body, {
        headers: { "X-Roost-If-Updated-At": row.updatedAt }, isRepeatable: Object.values(body)[0]?.__op !== "Increment",
      });
      row.set("updatedAt", answer.body.updatedAt ?? row.updatedAt);
      return answer.body;
    } catch (problem) {
      const object = problem.status === 409 && problem.body?.object;
      if (!object) throw problem;
      const isToRepeat = isHarmless(object) || (await ask(object));
      // Takes all new values together with the time of the change. Otherwise the next edit would overwrite them without asking.
      retake(row, object);
      if (!isToRepeat) return null;
    }
  }
}

export async function refresh(className, row) {
  retake(row, (await parse.get(objectPath(className, row.id), {}, { headers: SHORTEN })).body);
}

/** Reloads an object in other views that show it. */
export async function refreshOthers(className, row) {
  for (const view of viewsOf(className)) {
    const other = view.find(row.id);
    // If it can't be loaded now, the old values stay until the next change of the object.
    if (other && other !== row) await refresh(className, other).then(() => view.notify(), () => {});
  }
}

async function undo({ className, rows, row, field, change, seen, now, places }) {
  const mine = change.amount === undefined ? change.value : now;
  const former = seen === undefined ? noValue(field) : seen;
  let back;
  let stored = row.values.get(field.name);
  let refusal = isShortened(seen) && t("edit.undoRefused", { ...places, theirs: "", mine: "" });
  /** Determines the change that undoes this one. Returns false if somebody else has changed the value. */
  const judge = (value) => {
    const theirs = partOf(value, change);
    const isOurs = isEqual(theirs, mine) || isEqual(theirs, seen);
    back = isOurs || change.amount === undefined ? { path: change.path, value: former } : { amount: -change.amount };
    if (!isOurs && back.amount === undefined) refusal ||= t("edit.undoRefused", { ...places, theirs: inWords(theirs), mine: inWords(mine) });
    return !refusal;
  };
  // The row may have been reloaded with others' changes in the meantime.
  if (!judge(await wholeValue(className, row, field.name))) throw new Error(refusal);
  // Displays the undo immediately like any change, so further edits start from it.
  const entry = { field, change: back };
  row.unstored = [...(row.unstored ?? []), entry];
  show(row, field, back, stored);
  rows?.notify();
  const work = inTurn(row, async () => {
    const body = await conditionalPut(className, row, () => bodyOf(field, back), (object) => {
      stored = valueOf(object, field);
      const isOurs = judge(stored);
      entry.change = back;
      return isOurs;
    }, undefined, entry.taken);
    if (body) settle(row, entry);
    return body;
  });
  try {
    if (!(await work)) throw new Error(refusal);
  } catch (problem) {
    row.unstored = row.unstored.filter((other) => other !== entry);
    row.set(field.name, stored);
    showUnstored(row, field.name);
    throw problem;
  } finally {
    rows?.notify();
  }
  await refreshOthers(className, row);
  return t("edit.undone", { ...places, value: inWords(back.amount === undefined ? seen : row.values.get(field.name)) });
}

/** Asks which value to keep. Returns whether to save the operator's own. */
async function askWhoseValue({ field, theirs, mine, at }) {
  const side = (words, value) => h(".card", h("span.label", words), h(".value", drawValue(value, field) || t("pointer.clear")));
  return Boolean(await openDialog({ title: t("conflict.title") }, (close) => ({
    body: [h("p", t("conflict.text", { field: field.name, when: ago(at) })), h(".pair", side(t("conflict.theirs"), theirs), side(t("conflict.mine"), mine))],
    foot: [
      button(".button", () => close(false), t("conflict.keepTheirs")),
      firstButton(".button.primary", () => close(true), t("conflict.keepMine")),
    ],
  })));
}
