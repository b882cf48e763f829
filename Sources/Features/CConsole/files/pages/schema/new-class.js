/** Creates a class with its fields and permissions in one request. */

import { parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, put, textField } from "../../core/dom.js";
import { addWords, t } from "../../core/words.js";
import { chips } from "../../data/access.js";
import { loadCounts, replaceClass } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { openForm } from "../../parts/dialog.js";
import { toast } from "../../parts/states.js";
import { fieldControls, nameField, nameIn } from "./forms.js";

addWords({
  "class.hint": "Letters, digits and _, beginning with a letter: Track", "class.create": "Create class", "class.done": "Class {class} created",
  "class.removeField": "Remove this field", "class.owner": "{field} must point to _User.", "class.twice": "The field {field} is listed twice.",
  "class.may.owned": "Everyone reads, the owner changes", "class.may.private": "Private to its owner", "class.may.readOnly": "Read-only",
  "class.may.role": "Managed by a role", "class.may.open": "Open to everyone", "class.role": "Name of the role", "class.roleMissing": "Enter the name of the role.",
  "class.noRole": "There is no role {name} yet. Create it on the page Users.",
  "class.read": "Read", "class.change": "Change, delete", "class.extend": "Apps may add fields when they save", "class.acl": "The ACL of an object can narrow this, but not widen it.",
  "class.says.owned": "Everyone reads the objects. Logged-in users create them, and only the user in {field} changes and deletes one. Your app sets {field}, a required field, to the current user.",
  "class.says.private": "Only the user in {field} reads, changes and deletes an object. Your app sets {field}, a required field, to the current user.",
  "class.says.readOnly": "Apps only read. Objects come from this console and from cloud code that uses the master key.",
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
  const owner = () => named().map(({ kind }) => kind()).find(({ type, targetClass }) => type === "Pointer" && targetClass === "_User")?.name ?? "owner";
  const permissions = () => template(chosen(), owner(), setOwn({}, `role:${role.value.trim() || "\u2026"}`, true), extend.checked);
  const draw = () => {
    const kind = chosen();
    roleRow.hidden = kind !== "role";
    const all = permissions();
    const line = (words, operation) => h(".line.member", h("span.quiet.operation", t(words)), h(".grow", chips(all, operation)));
    const isUnknown = kind === "role" && roles && role.value.trim() && !roles.includes(role.value.trim());
    put(meaning, line("class.read", "find"), line("clp.create", "create"), line("class.change", "update"), line("clp.addField", "addField"),
      h("p", { class: kind === "open" ? "warn" : "" }, t("class.says." + kind, { field: owner(), role: role.value.trim() || "\u2026" })), isUnknown && h("p.warn", t("class.noRole", { name: role.value.trim() })));
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
  return openForm({ title, kind: "sheet", button: t("class.create") }, () => ({
    body,
    async save() {
      const name = nameIn(input);
      const definitions = {};
      for (const controls of named()) {
        const [field, definition] = await controls.read();
        if (Object.hasOwn(definitions, field)) throw new Error(t("class.twice", { field }));
        setOwn(definitions, field, isOwned() && field === owner() ? { ...definition, required: true } : definition);
      }
      if (isOwned() && definitions[owner()] && definitions[owner()].targetClass !== "_User") throw new Error(t("class.owner", { field: owner() }));
      if (isOwned() && !Object.hasOwn(definitions, owner())) setOwn(definitions, owner(), { type: "Pointer", targetClass: "_User", required: true });
      if (chosen() === "role" && !role.value.trim()) throw new Error(t("class.roleMissing"));
      replaceClass((await parse.post("schemas/" + name, { className: name, fields: definitions, classLevelPermissions: permissions() })).body);
      loadCounts();
      toast(t("class.done", { class: name }));
      return name;
    },
  }));
}
