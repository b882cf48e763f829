/** The schema: a diagram and a list of all classes, and the fields and indexes of one. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { mayChangeClasses } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { addWords, bytes, date, plain, said, shown, t } from "../../core/words.js";
import { counted } from "../../data/cells.js";
import { classes, counts, isServerClass, ranked } from "../../data/schema.js";
import { inWords } from "../../data/values.js";
import { keepFocus, openMenu } from "../../parts/dialog.js";
import { empty, table } from "../../parts/states.js";
import { classFrame, hasNoClass, newClass } from "../data/index.js";
import { diagram } from "./diagram.js";
import { deleteField, deleteIndex, dropClass, editField, emptyClass, makeIndex } from "./forms.js";

addWords({
  "schema.hint": "Classes, fields and pointers.", "schema.diagram": "Diagram", "schema.indexes": "Indexes",
  "schema.yes": "yes", "schema.default": "Default", "schema.used": "Used",
  "schema.usedHint": "Objects with a value in the field, among the last 1,000", "schema.actions": "Actions of {field}",
  "schema.change": "Required, default …", "schema.index": "Index on it …", "schema.drop": "Delete class …",
  "schema.empty": "Delete all objects …", "schema.bytes": "Objects {bytes}, indexes {indexBytes}", "schema.unique": "unique",
  "schema.broken": "invalid: delete it and build it again.", "schema.scans": "{bytes}, read {n} {n|time|times}",
  "schema.never": "{bytes}, never used", "schema.neverSince": "{bytes}, never used since {date}", "schema.ofServer": "Created by the server: {names}; {bytes}.",
  "schema.only": "only where {condition}", "schema.noIndex": "No indexes of your own. A search by a field without an index reads all objects.",
  "schema.and": "{field} {order}", "schema.target": "{type} {class}", "schema.keys": "This class",
});

const FIXED = new Map(Object.entries({
  _User: ["username", "password", "email", "emailVerified", "authData"], _Role: ["name", "users", "roles"],
  _Installation: ["installationId", "deviceToken", "channels", "deviceType", "pushType", "GCMSenderId", "timeZone", "localeIdentifier", "badge", "appVersion", "appName", "appIdentifier", "parseVersion"],
}));
const isFixed = (className, { name }) => ["objectId", "createdAt", "updatedAt", "ACL"].includes(name) || (FIXED.get(className)?.includes(name) ?? className.startsWith("_"));

export function open(scope) {
  return classFrame("schema", scope, (content, className, inner) => (className ? showClass(content, className, inner) : showAll(content, inner)));
}

function showAll(content, scope) {
  const list = h("div");
  effect(() => {
    const numbers = counts();
    const all = [...classes.peek().values()].sort((left, right) => Number(isServerClass(left.className)) - Number(isServerClass(right.className)));
    keepFocus(list, () => put(list, table(t("word.allClasses"), [[t("word.class")], [t("word.objects"), ".right"], [t("word.fields"), ".right"], [t("word.pointsTo"), ".wide"]], all.map(({ className, fields }) => [
      h("a", { href: address("schema", [className]) }, shown(className, 60)),
      numbers.has(className) ? counted(numbers.get(className)) : "",
      String(fields.size),
      [...new Set([...fields.values()].filter(({ targetClass }) => targetClass).map(({ targetClass }) => targetClass))].map((name) => h("span.pill", shown(name, 40))),
    ]))));
  }, scope);
  const add = mayChangeClasses() && button(".button.primary", () => newClass("schema"), icon("plus"), h("span.words", t("classes.new")));
  put(content, h("header.head", h("h1", t("rail.schema")), h("span.quiet.words", t("schema.hint")), h(".space"), add),
    h(".scroll", hasNoClass() ? empty({ picture: "schema", title: t("classes.empty"), text: t("classes.emptyHint") }) : h("section.panel", h("h2", t("schema.diagram")), diagram(classes.peek())), h("section.panel", h("h2", t("word.allClasses")), list)));
}

/** Asks for a new field, and shows it in the schema. On a phone, rows have no columns in which it could appear. */
export async function addField(className) {
  const name = await editField(className);
  const { page, parts } = route.peek();
  if (name && parts[0] === className && (page === "schema" || matchMedia("(max-width: 639px)").matches)) go(address("schema", [className], { field: name }), page === "schema");
}

/** The new field that was scrolled to last. */
let revealed;

function showClass(content, className, scope) {
  const { fields, indexes } = classes.peek().get(className);
  const mayChange = mayChangeClasses() && className !== "_Session";
  const number = h("span.quiet.count");
  const size = h("p.quiet");
  effect(() => {
    const entry = counts().get(className);
    put(number, entry ? `${counted(entry)} ${t("word.objects").toLowerCase()}` : "");
    put(size, entry ? t("schema.bytes", { bytes: bytes(entry.bytes), indexBytes: bytes(entry.indexBytes) }) : "");
  }, scope);
  const added = route.peek().query.get("field");
  const menu = mayChange && iconButton("more", t("grid.more"), (event) => openMenu(event.currentTarget, [
    { words: t("schema.empty"), icon: "trash", isDanger: true, do: () => emptyClass(className) },
    !isServerClass(className) && { words: t("schema.drop"), icon: "trash", isDanger: true, do: async () => { if (await dropClass(className)) go(address("schema")); } },
  ].filter(Boolean), { label: t("grid.more") }));
  const add = mayChange && button(".button.primary", () => addField(className), icon("plus"), h("span.words", t("grid.newField")));
  const indexBox = h("div");
  const drawIndexes = (sizes, since) => put(indexBox, indexList(className, indexes, mayChange, sizes, since));
  drawIndexes([]);
  send("GET", "indexes", { query: { className }, signal: scope }).then(({ body }) => {
    if (!scope.aborted) keepFocus(indexBox, () => drawIndexes(body.indexes, body.since));
  }, () => {});
  const used = new Map();
  const fieldTable = h("div");
  const drawFields = () => put(fieldTable, table(t("word.fields"),
    [[t("word.field")], [t("word.type")], [t("word.required"), ".wide"], [t("schema.default"), ".wide"], [h("span", { title: t("schema.usedHint") }, t("schema.used")), ".right"], [h("span.sr", t("grid.more")), ".actions"]],
    ranked({ className, fields }).map((field) => [field.name === added ? h("mark.pill", shown(field.name, 80)) : shown(field.name, 80), typeOf(field), field.required ? t("schema.yes") : "", field.defaultValue === undefined ? "" : h("span.mono", inWords(field.defaultValue)),
      used.has(field.name) ? t("word.percent", { percent: used.get(field.name) }) : "", fieldMenu(className, field, mayChange)])));
  drawFields();
  put(content, h("header.head", h("a.plain.back", { href: address("schema"), "aria-label": t("word.allClasses") }, icon("back")), h("h1", shown(className, 80)), number, h(".space"),
    h("a.button.wide", { href: address("data", [className]) }, t("word.rows")), h("a.button.wide", { href: address("access", [className]) }, t("rail.access")), add, menu),
  h(".scroll",
    h("section.panel", h("h2", t("word.fields")), fieldTable, mayChange && h("p.quiet", t("field.fixed"))),
    h("section.panel", h("h2", t("schema.indexes")), indexBox, size,
      mayChange && button(".button", () => makeIndex(className), icon("plus"), t("index.new"))),
    h("section.panel.phone", h(".line", h("a.button", { href: address("data", [className]) }, t("word.rows")), h("a.button", { href: address("access", [className]) }, t("rail.access"))))));
  addKeys(t("schema.keys"), mayChange ? { "Alt+n": { words: t("grid.newField"), do: () => addField(className) } } : {}, scope);
  if (added !== revealed) queueMicrotask(() => fieldTable.querySelector("mark")?.scrollIntoView({ block: "center" }));
  revealed = added;
  measure(className, scope).then((shares) => {
    for (const [name, percent] of shares) used.set(name, percent);
    if (!scope.aborted) keepFocus(fieldTable, drawFields);
  }, () => {});
}

const typeOf = ({ type, targetClass }) => (targetClass ? [t("schema.target", { type, class: "" }), h("a", { href: address("schema", [targetClass]) }, shown(targetClass, 60))] : plain(type, 20));

function fieldMenu(className, field, mayChange) {
  if (!mayChange) return "";
  const hasOptions = !isFixed(className, field);
  if (!hasOptions && (field.name === "objectId" || ["ACL", "Password", "Relation"].includes(field.type))) return "";
  return iconButton("more", t("schema.actions", { field: field.name }), (event) => openMenu(event.currentTarget, [
    hasOptions && { words: t("schema.change"), icon: "config", do: () => editField(className, field) },
    field.type !== "Relation" && { words: t("schema.index"), icon: "plus", do: () => makeIndex(className, field.name) },
    hasOptions && { words: t("word.delete"), icon: "trash", isDanger: true, do: () => deleteField(className, field) },
  ].filter(Boolean), { label: t("schema.actions", { field: field.name }) }));
}

function indexList(className, indexes, mayChange, sizes, since) {
  const own = [...indexes].filter(([name]) => name !== "_id_");
  const order = (value) => (value === 1 ? t("index.ascending") : value === -1 ? t("index.descending") : plain(value, 20));
  const rows = own.map(([name, keys]) => {
    const size = sizes.find((entry) => entry.name === name);
    const fields = Object.entries(keys).filter(([key]) => !key.startsWith("$")).map(([field, value]) => t("schema.and", { field, order: order(value) }));
    if (keys.$where) fields.push(t("schema.only", { condition: JSON.stringify(keys.$where) }));
    return h(".line.member", h(".grow", h("div", shown(name, 80), " ", (keys.$unique || size?.isUnique) && h("span.pill", t("schema.unique"))),
      h("div.quiet", fields.join(", ")), size && h(size.isValid ? "div.quiet" : "div.bad", useOf(size, since))),
    mayChange && iconButton("trash", t("gone.index", { index: name }), () => deleteIndex(className, name)));
  });
  const others = sizes.filter(({ name }) => !indexes.has(name));
  return [rows.length > 0 ? rows : h("p.quiet", t("schema.noIndex")), others.length > 0 && h("p.quiet", t("schema.ofServer", {
    names: said(others.map(({ name }) => plain(name, 80)).join(", ")), bytes: bytes(others.reduce((sum, entry) => sum + entry.bytes, 0)),
  }))];
}

function useOf({ isValid, bytes: size, scans }, since) {
  if (!isValid) return t("schema.broken");
  if (scans > 0) return t("schema.scans", { bytes: bytes(size), n: scans });
  return since ? t("schema.neverSince", { bytes: bytes(size), date: date(since) }) : t("schema.never", { bytes: bytes(size) });
}

/** Measures how often each field is set, as a percentage of the latest objects. */
async function measure(className, scope) {
  // Reads fewer objects if they are large.
  const { objects = 0, bytes: size = 0 } = counts.peek().get(className) ?? {};
  const { body } = await parse.get(objectPath(className), { limit: size > objects * 8192 ? 100 : 1000, order: "-createdAt" }, { signal: scope, headers: { "X-Roost-Shorten": "16" } });
  const found = new Map();
  for (const object of body.results) {
    for (const [name, value] of Object.entries(object)) if (value !== null) found.set(name, (found.get(name) ?? 0) + 1);
  }
  const total = body.results.length;
  if (total === 0) return [];
  return [...classes.peek().get(className).fields.values()].filter(({ type, name }) => !["Relation", "Password"].includes(type) && name !== "authData")
    .map(({ name }) => [name, Math.round(100 * (found.get(name) ?? 0) / total)]);
}
