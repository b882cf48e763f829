/** Suggests an index for a slow find, and builds indexes while apps keep writing. */

import { complain, newChange, record } from "../parts/states.js";
import { parse, send } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { addWords, bytes, plain, t } from "../core/words.js";
import { confirm } from "../parts/dialog.js";
import { classes, counts, replaceClass } from "./schema.js";

addWords({
  "index.build": "Create index", "index.text": "An index on {fields} of {class}.", "index.size": "The class has {n} {n|object|objects}, {bytes}.",
  "index.meanwhile": "Apps go on reading and writing. The index takes disk space and slows writes a little.",
  "index.building": "Building the index; apps keep running.", "index.stopped": "Stopped. The index was not created.", "index.done": "Index {index} built in {seconds} s",
});

const NOT_INDEXED = new Set(["Relation", "ACL", "Password", "Polygon", "Bytes", "Array", "Object", "GeoPoint", "File"]);

/** Whether an index on a field speeds up finds. */
export const isIndexable = ({ type }) => !NOT_INDEXED.has(type);

const has = (condition, ...operators) => operators.some((operator) => Object.hasOwn(condition, operator));
const isPlain = (condition) => condition === null || typeof condition !== "object" || Object.hasOwn(condition, "__type");
const isExact = (condition) => isPlain(condition) || has(condition, "$in", "$eq");
const isRange = (condition) => !isPlain(condition) && has(condition, "$lt", "$lte", "$gt", "$gte");

/**
 * Returns the fields of the index that a find lacks, with "-" before descending ones, or null if one exists or none would help. Equality
 * conditions come first, then the order or one range.
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

/** Asks whether to build an index, which slows down writes; `gain` describes the benefit. */
export function mayBuild(className, fields, gain) {
  const size = counts.peek().get(className);
  const names = fields.map((name) => plain(name.replace(/^-/, ""), 60)).join(", ");
  return confirm({ title: t("index.build"), button: t("index.build"), text: [h("p", t("index.text", { class: className, fields: names })),
    size && h("p", t("index.size", { n: size.objects, bytes: bytes(size.bytes) })), gain && h("p", gain), h("p.quiet", t("index.meanwhile"))] });
}

/**
 * Builds an index. Returns a line with progress and a stop button, and a promise of the index name, or null if stopped; `advice` is the
 * name of the server's advice.
 */
export function build(className, fields, { advice, isUnique = false } = {}) {
  const began = performance.now();
  const change = newChange();
  const body = advice ? { advice } : { className, fields, unique: isUnique };
  const { element, finished } = follow(async () => (await send("POST", "indexes", { body })).body, t("index.building"));
  const end = async () => {
    const result = await finished;
    if (!result) return null;
    replaceClass((await parse.get("schemas/" + encodeURIComponent(className))).body);
    record(t("index.done", { index: result.name, seconds: Math.round((performance.now() - began) / 1000) }), undefined, change);
    return result;
  };
  return { element, finished: end() };
}

/** Follows a task started by `begin`. Returns its line and a promise of its result, or null if stopped. */
export function follow(begin, label) {
  const bar = h("progress", { max: "100", "aria-label": label });
  const words = h("span.quiet", { role: "status" }, label);
  let path;
  const stop = button(".button", () => send("DELETE", path).catch(complain), t("word.stop"));
  stop.disabled = true;
  const run = async () => {
    let task = await begin();
    path = "tasks/" + encodeURIComponent(task.id);
    stop.disabled = false;
    while (task.state === "running" || task.state === "waiting") {
      bar.value = task.done;
      put(words, plain(task.message || label, 120), " ", t("word.percent", { percent: Math.round(task.done) }));
      task = (await send("GET", path, { query: { wait: 1 } })).body;
    }
    stop.disabled = true;
    if (task.state === "failed") throw new Error(plain(task.message, 500));
    return task.state === "cancelled" ? null : task.result;
  };
  return { element: h(".line.wrap.building", words, h(".grow", bar), stop), finished: run() };
}
