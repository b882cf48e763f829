/** The classes of the app with their fields and counts: one place that reads them, signals for those who show them. */

import { parse, send } from "../core/api.js";
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
