/** The classes of the app with fields, counts and saved views: one place that reads them, signals for those who show them. */

import { objectPath, parse, send } from "../core/api.js";
import { signal } from "../core/signal.js";

/** `Map` of class names to `{ className, fields: Map, indexes, permissions }`, or null until they are known. */
export const classes = signal(null);

/** `Map` of class names to `{ objects, isEstimate, bytes, indexBytes }`. */
export const counts = signal(new Map());

/** Why the classes could not be read. */
export const classesProblem = signal(null);

/** Fields that name an object, the best first. */
const NAMING = ["name", "title", "username", "label", "subject", "email"];

/** Fields that every class has, or that no client writes. */
const READ_ONLY = new Set(["objectId", "createdAt", "updatedAt", "sessionToken", "authData", "emailVerified"]);

/** Reads the classes. */
export async function loadClasses() {
  classesProblem.set(null);
  try {
    const { body } = await parse.get("schemas");
    classes.set(new Map(body.results.map((entry) => [entry.className, describe(entry)])
      .sort(([left], [right]) => left.localeCompare(right, "en"))));
  } catch (problem) {
    classesProblem.set(problem);
  }
}

/** Reads the number of objects of each class. */
export async function loadCounts() {
  try {
    const { body } = await send("GET", "counts");
    counts.set(new Map(body.classes.map((entry) => [entry.className, entry])));
  } catch {
    // The list is of use without them.
  }
}

/** Takes over what the server says about one class. */
export function replaceClass(entry) {
  const all = new Map(classes.peek());
  all.set(entry.className, describe(entry));
  classes.set(all);
}

function describe({ className, fields, indexes, classLevelPermissions }) {
  const map = new Map(Object.entries(fields).map(([name, field]) => [name, { name, ...field }]));
  // A token is worth a session: like a password it is never shown.
  if (map.has("sessionToken") && isServerClass(className)) map.set("sessionToken", { name: "sessionToken", type: "Password" });
  if (className === "_User") map.set("password", { name: "password", type: "Password" });
  return { className, fields: map, indexes: new Map(Object.entries(indexes ?? {})), permissions: classLevelPermissions };
}

/** The field that names the objects of a class; undefined where there is none. */
export function namingField(className) {
  const fields = classes.peek()?.get(className)?.fields;
  return fields && NAMING.find((name) => fields.get(name)?.type === "String");
}

/** Whether an editor may write a field. */
export function isReadOnly(className, field) {
  return READ_ONLY.has(field.name) || className === "_Session";
}

/** Whether a class belongs to the server rather than to the app. */
export const isServerClass = (className) => className.startsWith("_");

/** What a value of a type has; an object without is none, whatever it calls itself. */
const FORMS = new Map(Object.entries({
  Date: { iso: "string" }, Pointer: { className: "string", objectId: "string" }, Relation: {}, File: { name: "string" },
  GeoPoint: { latitude: "number", longitude: "number" }, Polygon: { coordinates: "object" }, Bytes: { base64: "string" },
  Shortened: { type: "string", bytes: "number" },
}));

/** The type of a JSON value, in Parse's words; undefined for null and what is not there. */
export function typeOf(value) {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return "Array";
  if (typeof value !== "object") return { string: "String", number: "Number", boolean: "Boolean" }[typeof value];
  // An object that a pointer led to stands for the pointer.
  const type = Object.hasOwn(value, "__type") ? (value.__type === "Object" ? "Pointer" : value.__type) : undefined;
  const form = FORMS.get(type);
  return form && Object.entries(form).every(([key, kind]) => typeof value[key] === kind) ? type : "Object";
}

/** Whether the server has cut a value off. */
export const isShortened = (value) => typeOf(value) === "Shortened";

/** The views of the operator, and those that are shared. */
export const savedViews = signal([]);

/** Reads the views, then how many objects each has. */
export async function loadViews() {
  try {
    const { body } = await send("GET", "views");
    savedViews.set(body.views);
  } catch {
    return;
  }
  await Promise.all(savedViews.peek().slice(0, 30).map(async (view) => {
    try {
      const { body } = await parse.get(objectPath(view.className), { where: view.where ?? {}, count: 1, limit: 0 });
      savedViews.set(savedViews.peek().map((other) => (other.id === view.id ? { ...other, count: body.count } : other)));
    } catch {
      // A view whose fields are gone has no number.
    }
  }));
}

/** Keeps a view, a new one under an id of its own. */
export async function keepView(view) {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  const id = view.id ?? [...crypto.getRandomValues(new Uint8Array(10))].map((byte) => letters[byte % 36]).join("");
  await send("PUT", "views/" + encodeURIComponent(id), { body: { ...view, id } });
  await loadViews();
  return id;
}

/** Takes a view away. */
export async function deleteView(id) {
  await send("DELETE", "views/" + encodeURIComponent(id));
  savedViews.set(savedViews.peek().filter((view) => view.id !== id));
}
