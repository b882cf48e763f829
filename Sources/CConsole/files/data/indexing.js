/** Indexes: which one a find lacks, and how one is built while apps go on writing. */

import { parse, send } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { addWords, plain, t } from "../core/words.js";
import { classes, replaceClass } from "./schema.js";

addWords({
  "index.building": "Building the index; apps go on writing.",
  "index.percent": "{percent} %",
  "index.stop": "Stop",
  "index.stopped": "Stopped. There is no index.",
  "index.done": "Index {index} built in {seconds} s",
});

const NOT_INDEXED = new Set(["Relation", "ACL", "Password", "Polygon", "Bytes", "Array", "Object", "GeoPoint", "File"]);

/** Whether an index on a field serves finds by its values. */
export const isIndexable = ({ type }) => !NOT_INDEXED.has(type);

const has = (condition, ...operators) => operators.some((operator) => Object.hasOwn(condition, operator));
const isPlain = (condition) => condition === null || typeof condition !== "object" || Object.hasOwn(condition, "__type");
const isExact = (condition) => isPlain(condition) || has(condition, "$in", "$eq");
const isRange = (condition) => !isPlain(condition) && has(condition, "$lt", "$lte", "$gt", "$gte");

/**
 * The index that a find lacks: its fields, "-" before descending ones. Null where there is one, or where none would help.
 * Exact conditions come first, then the order, or else one range.
 */
export function missingIndex(className, where, order) {
  const { fields, indexes } = classes.peek().get(className);
  const conditions = Object.entries(where).filter(([, condition]) => condition !== undefined);
  const named = (test) => conditions.filter(([, condition]) => test(condition)).map(([name]) => name);
  const sorted = order === "-createdAt" ? [] : order.split(",");
  const bare = (name) => name.replace(/^-/, "");
  const found = new Map([...named(isExact), ...(sorted.length > 0 ? sorted : named(isRange).slice(0, 1))].map((name) => [bare(name), name]));
  const wanted = [...found].filter(([name]) => fields.has(name) && isIndexable(fields.get(name)) && name !== "objectId" && name !== "createdAt").slice(0, 3);
  if (wanted.length === 0) return null;
  const isThere = [...indexes.values()].some((keys) => wanted.every(([name]) => Object.hasOwn(keys, name)));
  return isThere ? null : wanted.map(([, name]) => name);
}

/** A line with a bar and a stop, and a promise of the name of the index; null when it was stopped. */
export function build(className, fields, isUnique = false) {
  const bar = h("progress", { max: "100", "aria-label": t("index.building") });
  const words = h("span.quiet", { role: "status" }, t("index.building"));
  let id;
  const stop = button(".button", () => id && send("DELETE", "tasks/" + encodeURIComponent(id)), t("index.stop"));
  stop.disabled = true;
  const element = h(".line.wrap.building", words, h(".grow", bar), stop);
  const run = async () => {
    const began = performance.now();
    let task = (await send("POST", "indexes", { body: { className, fields, unique: isUnique } })).body;
    ({ id } = task);
    stop.disabled = false;
    while (task.state === "running" || task.state === "waiting") {
      bar.value = task.done;
      put(words, plain(task.message || t("index.building"), 120), " ", t("index.percent", { percent: Math.round(task.done) }));
      task = (await send("GET", "tasks/" + encodeURIComponent(id), { query: { wait: 1 } })).body;
    }
    stop.disabled = true;
    if (task.state === "failed") throw new Error(plain(task.message, 500));
    if (task.state === "cancelled") return null;
    replaceClass((await parse.get("schemas/" + encodeURIComponent(className))).body);
    return { name: task.result.name, seconds: Math.round((performance.now() - began) / 1000) };
  };
  return { element, finished: run() };
}
