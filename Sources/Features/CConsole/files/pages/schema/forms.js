/** Creates and deletes classes, fields and indexes. Deletions show the consequences first. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { chips } from "../../data/access.js";
import { valueInput } from "../../data/editors/inline.js";
import { build, isIndexable } from "../../data/indexing.js";
import { change, classes, loadClasses, loadCounts, replaceClass, schemaPath } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { confirm, openForm } from "../../parts/dialog.js";
import { complain, record, recordFinal } from "../../parts/states.js";

addWords({
  "name.empty": "Enter a name.", "name.wrong": "{name} is not a valid name.", "field.change": "Field {field}",
  "field.hint": "Letters, digits and _, beginning with a letter: playCount",
  "field.default": "Default value", "field.done": "Field {field} added to {class}",
  "field.changed": "Field {field} changed", "field.fixed": "A field keeps its name and type. To change them, add another field.",
  "field.lacking": "{n} of {total} {total|object lacks|objects lack} it. Apps can still save these: only new objects need a value.",
});

const fault = (words, input) => Object.assign(new Error(words), { input });

const nameField = () => textField({ autofocus: true, maxlength: "60" });

/** Returns the typed name. The rules for names are displayed next to the field. */
export function nameIn(input) {
  const name = input.value.trim();
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) throw fault(t(name === "" ? "name.empty" : "name.wrong", { name }), input);
  return name;
}

const TYPES = ["String", "Number", "Boolean", "Date", "Pointer", "Relation", "Array", "Object", "File", "GeoPoint", "Polygon", "Bytes"];

/** Creates the controls of a new field, or of the changeable parts of an existing one: `{ name, required, kind(), parts, read() }`. */
function fieldControls(field, hint) {
  const name = nameField();
  const type = h("select", { onchange: () => draw() }, TYPES.map((words) => option(words, words)));
  const target = h("select", { onchange: () => draw() }, [...classes.peek().keys()].map((name) => option(name, plain(name, 60), name === "_User")));
  const targetRow = labelled(t("word.ofClass"), target);
  const required = h("input", { type: "checkbox", checked: Boolean(field?.required) });
  const defaultRow = h(".field-row");
  let preset;
  const kind = () => field ?? { name: name.value.trim() || t("word.name"), type: type.value, targetClass: targetRow.hidden ? undefined : target.value };
  const draw = () => {
    targetRow.hidden = !["Pointer", "Relation"].includes(type.value);
    // Files belong to an object, and relations begin without members, so they have no default.
    preset = ["File", "Relation"].includes(kind().type) ? null : valueInput(kind(), field?.defaultValue);
    put(defaultRow, preset && [h("label.label", { for: preset.id }, t("field.default")), preset.element]);
  };
  draw();
  return {
    name, required, kind,
    parts: [field ? h("p.quiet", t("field.fixed")) : [labelled(t("word.name"), name), hint, labelled(t("word.type"), type), targetRow],
      field?.type !== "Relation" && h("label.line", required, t("word.required")), defaultRow],
    async read() {
      const { type: key, targetClass } = kind();
      // An existing default of "" is kept.
      let value = field?.defaultValue === "" ? "" : undefined;
      try {
        value = (await preset?.read()) ?? value;
      } catch (problem) {
        throw fault(problem.message, document.getElementById(preset.id));
      }
      return [field?.name ?? nameIn(name), { type: key, ...(targetClass ? { targetClass } : {}), ...(required.checked ? { required: true } : {}), ...(value === undefined ? {} : { defaultValue: value }) }];
    },
  };
}

/** Asks for a new field, or for changes of an existing one. Returns its name once it is stored. */
export function editField(className, field) {
  const controls = fieldControls(field, h("p.quiet", t("field.hint")));
  const { required } = controls;
  const lacking = h("p.warn", { role: "status" });
  required.onchange = async () => {
    put(lacking);
    if (!required.checked || field?.required) return;
    const [n, total] = await Promise.all([numberOf(className, field ? setOwn({}, field.name, { $exists: false }) : {}), numberOf(className, {})]).catch(() => [0]);
    if (required.checked && n > 0) put(lacking, t("field.lacking", { n, total }));
  };
  return openForm({ title: field ? t("field.change", { field: field.name }) : t("grid.newField"), button: t(field ? "save" : "word.addField") }, () => ({
    body: [controls.parts, lacking],
    async save() {
      const [name, definition] = await controls.read();
      await change(className, { fields: setOwn({}, name, definition) });
      record(t(field ? "field.changed" : "field.done", { field: name, class: className }));
      return name;
    },
  }));
}

addWords({
  "gone.field": "Delete field {field}",
  "gone.fieldText": "{n} of {total} {total|object has|objects have} a value in {field}. The trash does not keep these values.",
  "gone.named": " Permissions name this field, and would allow nobody: change them first.", "gone.relation": "The trash does not keep the members of {field}.", "gone.typed": "Type {name} to continue", "gone.fieldDone": "Field {field} deleted",
  "gone.index": "Delete index {index}", "gone.indexText": "Searches that use it get slower. No value is deleted.",
  "gone.indexDone": "Index {index} deleted", "gone.drop": "Delete class {class}",
  "gone.dropText": "This deletes the class with its {n} {n|object|objects}, fields, indexes and permissions. The trash keeps nothing.",
  "gone.dropDone": "Class {class} deleted", "gone.empty": "Delete all objects of {class}",
  "gone.emptyText": "This deletes {n} {n|object|objects}. The trash does not keep them. The class stays.", "gone.emptyDone": "{class} is empty",
  "gone.pointed": "Fields that point to it stay and lead nowhere: {fields}.",
});

const numberOf = async (className, where) => (await parse.get(objectPath(className), { where, count: 1, limit: 0 })).body.count;

/** Performs a deletion once the operator confirms it or types `name`. Shows rejections. Returns whether it was done. */
async function take(question, name, work, done) {
  try {
    const { title, text } = await question();
    const isWanted = await confirm({ title, text: h(".form", [].concat(text).filter(Boolean).map((one) => h("p", one))), button: title, isDanger: true, typed: name, typedLabel: name && t("gone.typed", { name }) });
    if (!isWanted) return false;
    await work();
    record(done);
    return true;
  } catch (problem) {
    complain(problem);
    return false;
  }
}

export function deleteField(className, field) {
  return take(async () => {
    const title = t("gone.field", { field: field.name });
    if (field.type === "Relation") return { title, text: t("gone.relation", { field: field.name }) };
    const [n, total] = await Promise.all([numberOf(className, setOwn({}, field.name, { $exists: true })), numberOf(className, {})]);
    const isNamed = JSON.stringify(classes().get(className)?.permissions ?? {}).includes(JSON.stringify(field.name));
    return { title, text: t("gone.fieldText", { n, total, field: field.name }) + (isNamed ? t("gone.named") : "") };
  }, field.name, () => change(className, { fields: setOwn({}, field.name, { __op: "Delete" }) }), t("gone.fieldDone", { field: field.name }));
}

export function deleteIndex(className, index) {
  return take(() => ({ title: t("gone.index", { index }), text: t("gone.indexText") }), undefined,
    () => change(className, { indexes: setOwn({}, index, { __op: "Delete" }) }), t("gone.indexDone", { index }));
}

const NOT_EMPTY = 255;

export function dropClass(className) {
  return take(async () => {
    const pointing = [...classes.peek().values()].flatMap((other) => [...other.fields.values()]
      .filter((field) => field.targetClass === className && other.className !== className).map((field) => `${other.className}.${field.name}`));
    return { title: t("gone.drop", { class: className }), text: [t("gone.dropText", { n: await numberOf(className, {}) }),
      pointing.length > 0 && t("gone.pointed", { fields: pointing.slice(0, 12).join(", ") })] };
  }, className, async () => {
    // The objects are deleted only if they are the only obstacle.
    await parse.delete(schemaPath(className)).catch(async (problem) => {
      if (problem.code !== NOT_EMPTY) throw problem;
      await parse.delete("purge/" + encodeURIComponent(className));
      await parse.delete(schemaPath(className));
    });
    await loadClasses();
    loadCounts();
  }, t("gone.dropDone", { class: className }));
}

export function emptyClass(className) {
  return take(async () => ({ title: t("gone.empty", { class: className }), text: t("gone.emptyText", { n: await numberOf(className, {}) }) }), className, async () => {
    await parse.delete("purge/" + encodeURIComponent(className));
    loadCounts();
  }, t("gone.emptyDone", { class: className }));
}

addWords({
  "index.new": "New index", "index.hint": "An index on owner, then title helps searches by owner, and by owner and title.", "index.then": "Then",
  "index.none": "no other", "index.order": "Order of {field}", "index.ascending": "ascending", "index.descending": "descending", "index.create": "Build index",
  "index.missing": "Choose a field.", "index.unique": "Allow no two objects with the same values",
});

/** Asks for the fields of an index, builds it, and shows the elapsed time. Returns the name. */
export function makeIndex(className, first = "") {
  const fields = [...classes.peek().get(className).fields.values()].filter(isIndexable).map(({ name }) => name);
  const rows = [first, "", ""].map((name, index) => {
    const label = t(index === 0 ? "word.field" : "index.then");
    const field = h("select", { autofocus: index === 0 }, option("", t(index === 0 ? "index.missing" : "index.none"), name === ""), fields.map((other) => option(other, plain(other, 60), other === name)));
    const order = h("select", { "aria-label": t("index.order", { field: label }) }, option("", t("index.ascending")), option("-", t("index.descending")));
    return { field, order, element: h(".pair", labelled(label, field), h(".stack.end", order)) };
  });
  const state = h("div");
  const unique = h("input", { type: "checkbox" });
  return openForm({ title: t("index.new"), button: t("index.create") }, () => ({
    body: [rows.map(({ element }) => element), h("p.quiet", t("index.hint")), h("label.line", unique, t("index.unique")), state],
    async save() {
      const chosen = rows.filter(({ field }) => field.value);
      if (chosen.length === 0) throw new Error(t("index.missing"));
      const work = build(className, chosen.map(({ field, order }) => order.value + field.value), { isUnique: unique.checked });
      put(state, work.element);
      const done = await work.finished.finally(() => put(state));
      if (done === null) throw new Error(t("index.stopped"));
      loadCounts();
      return done.name;
    },
  }));
}

addWords({
  "class.hint": "Letters, digits and _, beginning with a letter: Track", "class.create": "Create class", "class.done": "Class {class} created",
  "class.removeField": "Remove this field", "class.owner": "{field} must point to _User.", "class.twice": "The field {field} is listed twice.",
  "class.may.owned": "Everyone reads, the owner changes", "class.may.private": "Private to its owner", "class.may.readOnly": "Read-only",
  "class.may.role": "Managed by a role", "class.may.open": "Open to everyone", "class.role": "Name of the role", "class.roleMissing": "Enter the name of the role.",
  "class.noRole": "There is no role {name} yet. Create it on the page Users.",
  "class.read": "Read", "class.change": "Change, delete", "class.extend": "Apps may add fields when they save", "class.acl": "The permissions of an object (its ACL) can narrow this, but not widen it.",
  "class.says.owned": "Everyone reads the objects. Logged-in users create them, and only the user in {field} changes and deletes one.",
  "class.says.private": "Only the user in {field} reads, changes and deletes an object.",
  "class.sets": "Your app sets {field}, a required field, to the current user. Only a beforeSave trigger can enforce this: logged-in users can create objects for others.",
  "class.says.readOnly": "Apps only read. This console and cloud code with the master key write.",
  "class.says.role": "Everyone reads the objects. Only members of the role {role} create, change and delete them.",
  "class.says.open": "Anyone who has the app reads, creates, changes and deletes objects.",
});

const EVERYONE = { "*": true };
const USERS = { requiresAuthentication: true };

/** Returns the permissions of a template. Undefined leaves the class open. */
function template(kind, owner, role, isOpen) {
  const isOwner = { pointerFields: [owner] };
  const [read, create, write] = { owned: [EVERYONE, USERS, isOwner], private: [isOwner, USERS, isOwner], readOnly: [EVERYONE, {}, {}],
    role: [EVERYONE, role, role], open: [EVERYONE, EVERYONE, EVERYONE] }[kind];
  return { find: read, get: read, count: read, create, update: write, delete: write, addField: isOpen ? create : {} };
}

/** Creates the class that the code on the start page reads, with three objects. */
export async function makeSample() {
  replaceClass((await parse.post("schemas/Note", { className: "Note", fields: { text: { type: "String" } }, classLevelPermissions: template("readOnly") })).body);
  await send("POST", "imports", { body: { className: "Note", rows: ["Milk", "Bread", "Apples"].map((text) => ({ text })), existing: "stop" } });
  recordFinal(t("class.done", { class: "Note" }));
}

/** Asks for a new class. Returns its name once it exists; `first` is the preselected template. */
export function makeClass(first = "owned", title = t("classes.new")) {
  const input = nameField();
  const fields = new Set();
  const list = h(".form");
  const role = textField({ list: "class-roles" });
  const roleRow = labelled(t("class.role"), role, h("datalist", { id: "class-roles" }));
  const extend = h("input", { type: "checkbox" });
  const meaning = h(".rights", { role: "status" });
  const kinds = ["owned", "private", "readOnly", "role", "open"].map((kind) => h("input", { type: "radio", name: "may", value: kind, checked: kind === first, onchange: () => { extend.checked = kind === "open"; } }));
  let roles;
  const isOwned = () => ["owned", "private"].includes(chosen());
  const chosen = () => kinds.find(({ checked }) => checked).value;
  const named = () => [...fields].filter(({ name }) => name.value.trim());
  // An existing pointer to a user becomes the owner.
  const own = () => named().find(({ kind }) => kind().type === "Pointer" && kind().targetClass === "_User");
  const owner = () => own()?.kind().name ?? "owner";
  const permissions = () => template(chosen(), owner(), setOwn({}, `role:${role.value.trim() || "\u2026"}`, true), extend.checked);
  const draw = () => {
    const kind = chosen();
    for (const one of fields) {
      const isOwner = isOwned() && one === own();
      if (one.required.disabled !== isOwner) Object.assign(one.required, { checked: isOwner, disabled: isOwner });
    }
    roleRow.hidden = kind !== "role";
    const all = permissions();
    const line = (words, operation) => h(".line.member", h("span.quiet.operation", t(words)), h(".grow", chips(all, operation)));
    const isUnknown = kind === "role" && roles && role.value.trim() && !roles.includes(role.value.trim());
    put(meaning, line("class.read", "find"), line("clp.create", "create"), line("class.change", "update"), line("clp.addField", "addField"),
      h("p", { class: kind === "open" ? "warn" : "" }, t("class.says." + kind, { field: owner(), role: role.value.trim() || "\u2026" })), isOwned() && h("p.quiet", t("class.sets", { field: owner() })), isUnknown && h("p.warn", t("class.noRole", { name: role.value.trim() })));
  };
  const add = () => {
    const controls = fieldControls();
    const element = h(".new-field", controls.parts, iconButton("close", t("class.removeField"), () => { fields.delete(controls); element.remove(); draw(); }));
    fields.add(controls);
    list.append(element);
    return controls.name;
  };
  add();
  parse.get("classes/_Role", { keys: "name", limit: 100, order: "name" }).then(({ body }) => {
    roles = body.results.map(({ name }) => name);
    put(roleRow.querySelector("datalist"), roles.map((value) => h("option", { value })));
    draw();
  }, () => {});
  draw();
  const body = h(".form", { oninput: draw, onchange: draw }, labelled(t("word.name"), input), h("p.quiet", t("class.hint")),
    h("h3.label", t("word.fields")), list, h(".line", button(".button", () => add().focus(), icon("plus"), t("word.addField"))),
    h("h3.label", t("rail.access")), h(".form", kinds.map((one) => h("label.line", one, t("class.may." + one.value)))), roleRow, h("label.line", extend, t("class.extend")), meaning, h("p.quiet", t("class.acl")));
  return openForm({ title, kind: "sheet", button: t("class.create"), asks: true }, () => ({
    body,
    async save() {
      const name = nameIn(input);
      const definitions = {};
      for (const controls of named()) {
        const [field, definition] = await controls.read();
        if (Object.hasOwn(definitions, field)) throw fault(t("class.twice", { field }), controls.name);
        setOwn(definitions, field, definition);
      }
      if (isOwned() && definitions[owner()] && definitions[owner()].targetClass !== "_User") throw new Error(t("class.owner", { field: owner() }));
      if (isOwned() && !Object.hasOwn(definitions, owner())) setOwn(definitions, owner(), { type: "Pointer", targetClass: "_User", required: true });
      if (chosen() === "role" && !role.value.trim()) throw fault(t("class.roleMissing"), role);
      replaceClass((await parse.post("schemas/" + name, { className: name, fields: definitions, classLevelPermissions: permissions() })).body);
      loadCounts();
      record(t("class.done", { class: name }));
      return name;
    },
  }));
}
