/** Adds a field to a class. */

import { parse } from "../../core/api.js";
import { button, h, put } from "../../core/dom.js";
import { plain } from "../../core/text.js";
import { addWords, t } from "../../core/words.js";
import { classes, replaceClass } from "../../data/schema.js";
import { openDialog } from "../../parts/dialog.js";
import { setOwn } from "../../data/values.js";
import { toast } from "../../parts/toast.js";

addWords({
  "field.new": "New field",
  "field.name": "Name",
  "field.hint": "Letters, digits and _, beginning with a letter: playCount",
  "field.type": "Type",
  "field.target": "Of class",
  "field.required": "Objects must have it",
  "field.create": "Add field",
  "field.done": "Field {field} added to {class}",
});

const TYPES = ["String", "Number", "Boolean", "Date", "Pointer", "Relation", "Array", "Object", "File", "GeoPoint", "Polygon", "Bytes"];

/** Asks for name and type; gives the name when the field is there. */
export function makeField(className) {
  const input = h("input", { autofocus: true, autocomplete: "off", spellcheck: "false", maxlength: "60" });
  const option = (name) => h("option", { value: name }, plain(name, 60));
  const type = h("select", { onchange: () => { targetRow.hidden = !["Pointer", "Relation"].includes(type.value); } }, TYPES.map(option));
  const target = h("select", [...classes.peek().keys()].map(option));
  const targetRow = h("label.stack", { hidden: true }, h("span.label", t("field.target")), target);
  const required = h("input", { type: "checkbox" });
  const problem = h("p.problem", { role: "alert" });
  return openDialog({ title: t("field.new") }, (close) => {
    const create = async () => {
      const name = input.value.trim();
      if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name)) {
        put(problem, t("field.hint"));
        input.focus();
        return;
      }
      const field = { type: type.value, ...(targetRow.hidden ? {} : { targetClass: target.value }), ...(required.checked ? { required: true } : {}) };
      try {
        const { body } = await parse.put("schemas/" + encodeURIComponent(className), { className, fields: setOwn({}, name, field) });
        replaceClass(body);
        toast(t("field.done", { field: name, class: className }));
        close(name);
      } catch (refusal) {
        put(problem, plain(refusal.message, 300));
        input.focus();
      }
    };
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") create(); });
    return {
      body: [h("label.stack", h("span.label", t("field.name")), input), h("label.stack", h("span.label", t("field.type")), type), targetRow, h("label.line", required, t("field.required")), problem],
      foot: [button(".button", () => close(), t("cancel")), button(".button.primary", create, t("field.create"))],
    };
  });
}
