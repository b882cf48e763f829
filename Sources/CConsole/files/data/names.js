/** Names of the objects that pointers lead to: asked for in bulk, kept for the visit. A pointer without an object is found out, too. */

import { objectPath, parse } from "../core/api.js";
import { signal } from "../core/signal.js";
import { classes, namingField } from "./schema.js";

const known = new Map();
const wanted = new Map();
const asked = new Set();
let timer;

/** Notified when names have come. */
export const namesChanged = signal(0);

/** The name of an object: a text, "" where the class has none, null when the object is gone, undefined while unknown. */
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

/** Keeps the name of an object that was read. */
export function learn(className, object) {
  const field = namingField(className);
  const name = field ? new Map(Object.entries(object)).get(field) : "";
  known.set(className + "\n" + object.objectId, typeof name === "string" ? name : name?.start ?? "");
  namesChanged.set(namesChanged.peek() + 1);
}

/** Forgets all names of a class. */
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
      }, { headers: { "X-Roost-Shorten": "256" } });
      for (const id of some) known.set(className + "\n" + id, null);
      for (const object of body.results) {
        const name = field ? object[field] : "";
        known.set(className + "\n" + object.objectId, typeof name === "string" ? name : name?.start ?? "");
      }
    } catch {
      for (const id of some) known.set(className + "\n" + id, "");
    }
  }
}
