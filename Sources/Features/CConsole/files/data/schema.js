/** The classes of the app with their fields, columns, counts and saved views, as signals. */

import { objectPath, parse, POLL, send, SHORTEN } from "../core/api.js";
import { isEqual, signal } from "../core/signal.js";

/** A `Map` of class names to `{ className, fields: Map, indexes, permissions }`, or null until loaded. */
export const classes = signal(null);

/** A `Map` of class names to `{ objects, isEstimate, bytes, indexBytes }`. */
export const counts = signal(new Map());

/** The reason why the classes could not be loaded. */
export const classesProblem = signal(null);

/** Fields that name an object, best first. */
const NAMING = ["name", "title", "username", "label", "subject", "email"];

const READ_ONLY = new Set(["objectId", "createdAt", "updatedAt", "sessionToken", "authData", "emailVerified"]);

/** Loads the classes. With `isForNames`, known classes stay unchanged, because the operator may be editing one. */
export async function loadClasses({ isForNames = false } = {}) {
  classesProblem.set(null);
  try {
    const { body } = await parse.get("schemas");
    setClasses(body.results.map(describe), isForNames);
  } catch (problem) {
    classesProblem.set(problem);
  }
}

/** Sorts the classes by name. Unchanged classes keep their identity, so they aren't redrawn. */
function setClasses(list, keepsKnown = false) {
  const before = classes.peek();
  const same = (entry) => [before?.get(entry.className)].find((known) => known && (keepsKnown || isEqual(inJSON(known), inJSON(entry)))) ?? entry;
  classes.set(new Map(list.map((entry) => [entry.className, same(entry)]).sort(([left], [right]) => left.localeCompare(right, "en"))));
}

const inJSON = ({ fields, indexes, permissions }) => [[...fields.values()], [...indexes], permissions ?? null];

/** Loads the number of objects of each class, and reloads the classes if some were added or removed. */
export async function loadCounts() {
  try {
    const { body } = await send("GET", "counts", { headers: POLL });
    const now = new Map(body.classes.map((entry) => [entry.className, entry]));
    if (!isEqual([...now.values()], [...counts.peek().values()])) counts.set(now);
    const all = classes.peek();
    const isOther = (names, others) => [...names].some((name) => !isServerClass(name) && !others.has(name));
    if (all && (isOther(now.keys(), all) || isOther(all.keys(), now))) await loadClasses({ isForNames: true });
  } catch {
    // The list is useful without counts.
  }
}

/** Replaces a class with the server's description. */
export function replaceClass(entry) {
  setClasses([...(classes.peek()?.values() ?? [])].filter(({ className }) => className !== entry.className).concat(describe(entry)));
}

/** Loads a class if it was changed elsewhere. Returns undefined if it wasn't, or was changed here meanwhile. */
export async function changedClass(className) {
  const known = classes.peek()?.get(className);
  const { body } = await parse.get(schemaPath(className), {}, { headers: POLL });
  return known && known === classes.peek().get(className) && !isEqual(inJSON(known), inJSON(describe(body))) ? body : undefined;
}

export const schemaPath = (className) => objectPath(className).replace("classes", "schemas");

/** Stores a change of a class and displays the result. */
export async function change(className, body) {
  replaceClass((await parse.put(schemaPath(className), { className, ...body })).body);
}

function describe({ className, fields, indexes, classLevelPermissions }) {
  const map = new Map(Object.entries(fields).map(([name, field]) => [name, { name, ...field }]));
  // Session tokens are as sensitive as passwords and are never shown.
  if (map.has("sessionToken") && isServerClass(className)) map.set("sessionToken", { name: "sessionToken", type: "Password" });
  if (className === "_User") map.set("password", { name: "password", type: "Password" });
  return { className, fields: map, indexes: new Map(Object.entries(indexes ?? {})), permissions: classLevelPermissions };
}

/** Returns the field that names the objects of a class, or undefined if there is none. */
export function namingField(className) {
  const fields = classes.peek()?.get(className)?.fields;
  return fields && NAMING.find((name) => fields.get(name)?.type === "String");
}

/** Whether a field can't be edited in the console. Sessions have no editable fields. */
export function isReadOnly(className, field) {
  return READ_ONLY.has(field.name) || className === "_Session";
}

/** Whether a class belongs to the server rather than the app. */
export const isServerClass = (className) => className.startsWith("_");

/** The members that a value of a type must have. An object without them isn't of that type, whatever it claims. */
const FORMS = new Map(Object.entries({
  Date: { iso: "string" }, Pointer: { className: "string", objectId: "string" }, Relation: {}, File: { name: "string" },
  GeoPoint: { latitude: "number", longitude: "number" }, Polygon: { coordinates: "object" }, Bytes: { base64: "string" },
  Shortened: { type: "string", bytes: "number" },
}));

/** Returns the Parse type of a JSON value, or undefined for null and missing values. */
export function typeOf(value) {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return "Array";
  if (typeof value !== "object") return { string: "String", number: "Number", boolean: "Boolean" }[typeof value];
  // An included object counts as a pointer.
  const type = Object.hasOwn(value, "__type") ? (value.__type === "Object" ? "Pointer" : value.__type) : undefined;
  const form = FORMS.get(type);
  return form && Object.entries(form).every(([key, kind]) => typeof value[key] === kind) ? type : "Object";
}

export const isShortened = (value) => typeOf(value) === "Shortened";

/** The operator's own views and shared ones. */
export const savedViews = signal([]);

/** Loads the views, then the number of objects in each of the first 30. */
export async function loadViews() {
  try {
    const { body } = await send("GET", "views");
    savedViews.set(body.views.map(readView));
  } catch {
    return;
  }
  await Promise.all(savedViews.peek().slice(0, 30).map(async (view) => {
    try {
      const { body } = await parse.get(objectPath(view.className), { where: view.where ?? {}, count: 1, limit: 0 });
      savedViews.set(savedViews.peek().map((other) => (other.id === view.id ? { ...other, count: body.count } : other)));
    } catch {
      // A view whose fields no longer exist has no count.
    }
  }));
}

/** Removes invalid parts from a view, because a shared view may contain anything. */
function readView(view) {
  const columns = Array.isArray(view.columns) ? view.columns.filter((name) => typeof name === "string") : [];
  const isObject = typeof view.where === "object" && view.where !== null && !Array.isArray(view.where);
  return { ...view, where: isObject ? view.where : undefined, order: typeof view.order === "string" ? view.order : undefined, columns: columns.length > 0 ? columns : undefined };
}

/** Saves a view. A new one gets an id. */
export async function keepView(view) {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const id = view.id ?? [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => letters[byte % 36]).join("");
  await send("PUT", "views/" + encodeURIComponent(id), { body: { ...view, id } });
  await loadViews();
  return id;
}

export async function deleteView(id) {
  await send("DELETE", "views/" + encodeURIComponent(id));
  savedViews.set(savedViews.peek().filter((view) => view.id !== id));
}

const RANK = ["String", "Pointer", "Number", "Boolean", "Date", "File", "GeoPoint", "Array", "Object", "Relation", "Polygon", "Bytes", "Password"];
const WIDTHS = { String: 200, Pointer: 168, Number: 112, Boolean: 96, Date: 168, File: 168, GeoPoint: 160, Array: 192, Object: 224, Relation: 120, ACL: 208, Password: 96 };

/** Returns all columns of a class, most useful first. The object's dates and ACL come last. */
export function ranked(description) {
  const naming = namingField(description.className);
  const isLimited = description.permissions !== undefined && description.permissions.update?.["*"] !== true;
  const rank = ({ name, type }) => {
    if (name === "objectId") return -2;
    if (name === naming) return -1;
    if (name === "createdAt" || name === "updatedAt") return 50;
    if (name === "ACL") return 51;
    const place = RANK.indexOf(type);
    return place < 0 ? 40 : place;
  };
  return [...description.fields.values()].map((field) => ({ ...field, isLimited, width: WIDTHS[field.type] ?? 168 }))
    .map((field) => (field.name === "objectId" ? { ...field, width: 128 } : field))
    .sort((left, right) => rank(left) - rank(right) || left.name.localeCompare(right.name, "en"));
}

const key = (className) => `roost.columns.${className}`;

/** The operator's settings for a class: `{ order, hidden, widths }`. */
export function choices(className) {
  try {
    return JSON.parse(localStorage.getItem(key(className))) ?? {};
  } catch {
    return {};
  }
}

/** Stores a setting in this browser. */
export function choose(className, change) {
  localStorage.setItem(key(className), JSON.stringify({ ...choices(className), ...change }));
}

/** Returns the visible columns in the order and widths of the operator or a saved view. */
export function visible(description, { order, hidden = [], widths = {} } = choices(description.className)) {
  let columns = ranked(description);
  if (order) {
    const place = (column) => (order.includes(column.name) ? order.indexOf(column.name) : order.length);
    columns = columns.map((column, index) => [column, index]).sort(([a, i], [b, j]) => place(a) - place(b) || i - j).map(([column]) => column);
  }
  return columns.filter((column) => !hidden.includes(column.name))
    .map((column) => ({ ...column, width: Number(new Map(Object.entries(widths)).get(column.name)) || column.width }));
}

const known = new Map();
const wanted = new Map();
const asked = new Set();
let timer;

export const namesChanged = signal(0);

/** Returns the name of an object: a text, "" if the class has no names, null if the object doesn't exist, undefined if unknown. */
export function nameOf(className, objectId) {
  const key = className + "\n" + objectId;
  if (known.has(key)) return known.get(key);
  if (!classes.peek()?.has(className)) return "";
  if (asked.has(key)) return undefined;
  asked.add(key);
  if (!wanted.has(className)) wanted.set(className, new Set());
  wanted.get(className).add(objectId);
  timer ??= setTimeout(fetchAll, 10);
  return undefined;
}

function keep(className, object) {
  const field = namingField(className);
  const name = field ? new Map(Object.entries(object)).get(field) : "";
  known.set(className + "\n" + object.objectId, typeof name === "string" ? name : name?.start ?? "");
}

export function learn(className, object) {
  keep(className, object);
  namesChanged.set(namesChanged.peek() + 1);
}

/** Forgets the names of all objects of a class, so that they are loaded again. */
export function forget(className) {
  for (const keys of [known, asked]) for (const key of keys.keys()) if (key.startsWith(className + "\n")) keys.delete(key);
}

async function fetchAll() {
  timer = undefined;
  const jobs = [...wanted];
  wanted.clear();
  await Promise.all(jobs.map(([className, ids]) => fetchSome(className, [...ids])));
  namesChanged.set(namesChanged.peek() + 1);
}

async function fetchSome(className, ids) {
  const field = namingField(className);
  for (let from = 0; from < ids.length; from += 100) {
    const some = ids.slice(from, from + 100);
    try {
      const { body } = await parse.get(objectPath(className), {
        where: { objectId: { $in: some } }, keys: field ?? "objectId", limit: some.length,
      }, { headers: SHORTEN });
      for (const id of some) known.set(className + "\n" + id, null);
      for (const object of body.results) keep(className, object);
    } catch {
      for (const id of some) known.set(className + "\n" + id, "");
    }
  }
}
