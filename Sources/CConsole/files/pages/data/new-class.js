/** Makes classes and fields. */

import { objectPath, parse } from "../../core/api.js";
import { h, labelled, option, textField } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { classes, loadCounts, replaceClass } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { openForm } from "../../parts/dialog.js";
import { toast } from "../../parts/toast.js";

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
