/** Makes classes, fields and objects. */

import { objectPath, parse } from "../../core/api.js";
import { h, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { valueInput } from "../../data/editors/inline.js";
import { Row } from "../../data/rows.js";
import { classes, isReadOnly, loadCounts, ranked, replaceClass } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { openForm } from "../../parts/dialog.js";
import { record, toast } from "../../parts/states.js";

addWords({
  "class.hint": "Letters, digits and _, beginning with a letter: Track",
  "class.create": "Create class",
  "class.done": "Class {class} created",
  "field.new": "New field",
  "field.name": "Name",
  "field.hint": "Letters, digits and _, beginning with a letter: playCount",
  "field.type": "Type",
  "field.target": "Of class",
  "field.required": "Objects must have it",
  "field.create": "Add field",
  "field.done": "Field {field} added to {class}",
});

const nameField = () => textField({ autofocus: true, maxlength: "60" });

/** The name that was typed; throws what a name is. */
function nameIn(input, hint) {
  const name = input.value.trim();
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) throw new Error(t(hint));
  return name;
}

/** Asks for a name; gives it when the class is there. */
export function makeClass() {
  const input = nameField();
  return openForm({ title: t("classes.new"), button: t("class.create") }, () => ({
    body: [labelled(t("field.name"), input), h("p.quiet", t("class.hint"))],
    async save() {
      const name = nameIn(input, "class.hint");
      replaceClass((await parse.post("schemas/" + name, { className: name })).body);
      loadCounts();
      toast(t("class.done", { class: name }));
      return name;
    },
  }));
}

const TYPES = ["String", "Number", "Boolean", "Date", "Pointer", "Relation", "Array", "Object", "File", "GeoPoint", "Polygon", "Bytes"];

/** Asks for name and type; gives the name when the field is there. */
export function makeField(className) {
  const input = nameField();
  const choice = (name) => option(name, plain(name, 60));
  const type = h("select", { onchange: () => { targetRow.hidden = !["Pointer", "Relation"].includes(type.value); } }, TYPES.map(choice));
  const target = h("select", [...classes.peek().keys()].map(choice));
  const targetRow = labelled(t("field.target"), target);
  targetRow.hidden = true;
  const required = h("input", { type: "checkbox" });
  return openForm({ title: t("field.new"), button: t("field.create") }, () => ({
    body: [labelled(t("field.name"), input), labelled(t("field.type"), type), targetRow, h("label.line", required, t("field.required"))],
    async save() {
      const name = nameIn(input, "field.hint");
      const field = { type: type.value, ...(targetRow.hidden ? {} : { targetClass: target.value }), ...(required.checked ? { required: true } : {}) };
      replaceClass((await parse.put(objectPath(className).replace("classes", "schemas"), { className, fields: setOwn({}, name, field) })).body);
      toast(t("field.done", { field: name, class: className }));
      return name;
    },
  }));
}

/** Asks for the fields; the object stands on top of the rows afterwards. */
export async function openNew(page) {
  const { className, description } = page;
  const fields = ranked(description).filter((field) => !isReadOnly(className, field) && !["ACL", "Relation", "File"].includes(field.type))
    .sort((left, right) => Number(Boolean(right.required)) - Number(Boolean(left.required)));
  const object = await openForm({ title: t("new.title", { class: className }), kind: "sheet", button: t("new.create") }, () => {
    const inputs = fields.map((field) => ({ field, input: valueInput(field, field.defaultValue), problem: problemLine() }));
    let wrong;
    const complain = (entry, words) => {
      put(entry.problem, words);
      wrong ??= entry;
    };
    const save = async () => {
      const body = {};
      wrong = undefined;
      for (const entry of inputs) {
        const { field, input, problem } = entry;
        put(problem);
        try {
          const value = input.read();
          if (value !== undefined) setOwn(body, field.name, value);
          else if (field.required) complain(entry, t("new.missing", { field: field.name }));
        } catch (refusal) {
          complain(entry, refusal.message);
        }
      }
      if (wrong) throw new Error("");
      // A role without an ACL is refused.
      if (className === "_Role") body.ACL = { "*": { read: true } };
      try {
        const answer = await parse.post(className === "_User" ? "users" : objectPath(className), body);
        delete body.password;
        return { ...body, ...answer.body, updatedAt: answer.body.updatedAt ?? answer.body.createdAt };
      } catch (refusal) {
        const words = refusal.message.split(/[^A-Za-z0-9_]+/);
        const entry = inputs.find(({ field }) => words.includes(field.name));
        if (!entry) throw refusal;
        complain(entry, refusal.message);
        throw new Error("");
      }
    };
    const body = h(".form", inputs.map(({ field, input, problem }) => h(".field-row",
      h("label.line", { for: input.id }, h("bdi", plain(field.name, 60)),
        h("span.label", field.targetClass ? `${field.type} ${plain(field.targetClass)}` : field.type),
        field.required && h("span.tag", t("new.required"))),
      input.element, problem)));
    return { body, save, focus: () => (wrong ?? inputs[0])?.input.focus() };
  });
  if (!object) return;
  delete object.sessionToken;
  const row = new Row(object);
  if (page.rows.length === 0) page.reload();
  else page.rows.insert(row);
  if (page.grid.isConnected) {
    page.grid.moveTo(0, page.grid.active.column);
    page.grid.focus({ preventScroll: true });
  }
  record(t("new.done", { object: object.objectId }), async () => {
    await parse.delete(objectPath(className, object.objectId));
    page.rows.remove(object.objectId);
    return t("new.undone");
  });
}
