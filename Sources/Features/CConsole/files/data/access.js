/** Describes the permissions of a class and the effects of changing them. */

import { h, icon } from "../core/dom.js";
import { addWords, plain, said, t } from "../core/words.js";
import { who } from "./cells.js";
import { isEqual, setOwn } from "./values.js";

addWords({
  "clp.find": "Find", "clp.get": "Get", "clp.count": "Count", "clp.create": "Create", "clp.update": "Update", "clp.delete": "Delete",
  "clp.addField": "Add fields", "clp.find.means": "Query objects", "clp.get.means": "Read one object by its id",
  "clp.count.means": "Count objects", "clp.create.means": "Create objects", "clp.update.means": "Change objects",
  "clp.delete.means": "Delete objects", "clp.addField.means": "Add fields to the class", "clp.nobody": "nobody (only the master key)",
  "clp.loggedIn": "logged-in users", "clp.userIn": "the user in {field}", "clp.hidden": "Hidden from {who}: {fields}",
  "clp.sees": "Nothing is hidden from {who}", "clp.letsIn": "Lets in: {who}.", "clp.shutsOut": "Shuts out: {who}.", "clp.allBut": "{all} but {who}",
  "clp.same": "Nothing changes.", "clp.hides": "Hides: {fields}.", "clp.shows": "Shows: {fields}.",
  "clp.limits": "The class limits this. {limits}.", "clp.shut": "This shuts out {who}, too.",
});

export const OPERATIONS = ["find", "get", "count", "create", "update", "delete", "addField"];

/** Returns the own keys of an object as a `Map`, which is empty for other values. */
export const own = (value) => new Map(value !== null && typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : []);

export const names = (value) => (Array.isArray(value) ? value.filter((name) => typeof name === "string") : []);

/** Returns the entry of an operation. Without stored permissions every operation is open; otherwise a missing one is closed. */
export function entryOf(permissions, operation) {
  return permissions === undefined ? { "*": true } : own(permissions).get(operation) ?? {};
}

export function principal(key) {
  if (key === "authenticated" || key === "requiresAuthentication") return t("clp.loggedIn");
  return key.startsWith("userField:") ? t("clp.userIn", { field: key.slice(10) }) : who(key);
}

const isReading = (operation) => ["find", "get", "count"].includes(operation);

/** Returns the principals that an entry allows as a `Map` of keys to descriptions. Pointer fields narrow "logged-in users". */
export function letIn(entry, permissions, operation) {
  const all = own(entry);
  // Pointer permissions don't apply to objects that don't exist yet.
  const lists = operation === "create" ? [] : [all.get("pointerFields"), own(permissions).get(isReading(operation) ? "readUserFields" : "writeUserFields")];
  const fields = lists.flatMap(names).map((field) => `userField:${field}`);
  const keys = new Set([...all.keys()].filter((key) => all.get(key) && key !== "pointerFields" && (key !== "requiresAuthentication" || fields.length === 0)).concat(fields));
  const widest = WIDEST.find((key) => keys.has(key));
  return new Map((widest ? [widest] : [...keys]).map((key) => [key, principal(key)]));
}

const WIDEST = ["*", "requiresAuthentication"];

const allowed = (permissions, operation) => letIn(entryOf(permissions, operation), permissions, operation);

/** Whether principals include those of a key. */
export const contains = (all, key) => all.has(key) || all.has("*") || (key !== "*" && all.has("requiresAuthentication"));

/** Describes who may perform an operation. */
export const sentenceOf = (permissions, operation) => [...allowed(permissions, operation).values()].join(" \u00b7 ") || t("clp.nobody");

/** Draws the principals that may perform an operation as chips. Highlights public writes, but not public reads. */
export function chips(permissions, operation) {
  const found = allowed(permissions, operation);
  const look = (key) => (key === "*" ? [isReading(operation) ? "" : ".open", "users"] : key.startsWith("role:") ? [".role", "shield"] : key.startsWith("userField:") ? [".owner", "link"] : ["", "check"]);
  const chip = ([kind, picture], words) => h("span.pill.who" + kind, icon(picture), h("span.text", words));
  return found.size > 0 ? [...found].map(([key, words]) => chip(look(key), words)) : chip([".closed", "lock"], t("clp.nobody"));
}

/** Describes who gains and who loses access if the entry of an operation changes. */
export function consequences(permissions, operation, entry) {
  const before = allowed(permissions, operation);
  const after = letIn(entry, permissions, operation);
  const list = (all) => said(all.join(", "));
  const [added, lost] = [[after, before], [before, after]].map(([all, others]) => [...all].filter(([key]) => !contains(others, key)));
  const gone = lost.map(([key, words]) => (WIDEST.includes(key) && after.size > 0 ? t("clp.allBut", { all: said(words), who: list([...after.values()]) }) : words));
  const parts = [added.length > 0 && t("clp.letsIn", { who: list(added.map(([, words]) => words)) }), gone.length > 0 && t("clp.shutsOut", { who: list(gone) })].filter(Boolean);
  return parts.length > 0 ? parts.join(" ") : t("clp.same");
}

/** Whether `other` allows a principal that the new entry of `operation` denies. */
export function isWider(permissions, other, operation, entry) {
  const after = letIn(entry, permissions, operation);
  return [...allowed(permissions, other).keys()].some((key) => !contains(after, key));
}

/** Describes what is hidden from a principal. */
export function hiddenSentence(key, fields) {
  return fields.length > 0 ? t("clp.hidden", { who: said(principal(key)), fields: said(fields.map((name) => plain(name, 40)).join(", ")) }) : t("clp.sees", { who: said(principal(key)) });
}

/** Describes what a change of hidden fields hides and shows. */
export function hidingConsequences(before, after) {
  const list = (all) => said(all.map((name) => plain(name, 40)).join(", "));
  const [hides, shows] = [after.filter((name) => !before.includes(name)), before.filter((name) => !after.includes(name))];
  return [hides.length > 0 && t("clp.hides", { fields: list(hides) }), shows.length > 0 && t("clp.shows", { fields: list(shows) })].filter(Boolean).join(" ") || t("clp.same");
}

/** Returns the permissions with one key replaced, or removed if undefined. Other keys stay unchanged. */
export function withKey(permissions, key, value) {
  const next = {};
  const base = permissions ?? Object.fromEntries(OPERATIONS.map((operation) => [operation, { "*": true }]));
  for (const [name, member] of own(base)) if (name !== key) setOwn(next, name, member);
  return value === undefined ? next : setOwn(next, key, value);
}

export const areSame = (left, right) => isEqual(left ?? null, right ?? null);

/** Describes how a class limits objects that an ACL leaves open, whether it limits changes, and whom an empty ACL shuts out. */
export function limitsOf(permissions) {
  const limited = ["find", "get", "update", "delete"].filter((operation) => !allowed(permissions, operation).has("*"));
  const limits = [...Map.groupBy(limited, (operation) => sentenceOf(permissions, operation))].map(([who, all]) => `${all.map((operation) => t("clp." + operation)).join(", ")}: ${who}`).join("; ");
  const who = [...new Map(limited.flatMap((operation) => [...allowed(permissions, operation)]))].filter(([key]) => !WIDEST.includes(key)).map(([, words]) => words).join(" \u00b7 ");
  return { words: limits && t("clp.limits", { limits: said(limits) }), isLimited: limited.includes("update"), shut: who && t("clp.shut", { who: said(who) }) };
}
