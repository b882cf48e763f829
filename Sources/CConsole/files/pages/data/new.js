/** Makes objects. */

import { objectPath, parse } from "../../core/api.js";
import { h, problemLine, put } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { valueInput } from "../../data/editors/inline.js";
import { Row, viewsOf } from "../../data/rows.js";
import { isReadOnly, ranked } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { openForm } from "../../parts/dialog.js";
import { record } from "../../parts/states.js";

addWords({
  "new.title": "New object of {class}",
  "new.create": "Create",
  "new.done": "{object} created",
  "new.missing": "{field} is required.",
  "new.required": "required",
  "new.undone": "The new object is gone again",
});

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
          const value = await input.read();
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
    for (const view of viewsOf(className)) view.remove(object.objectId);
    return t("new.undone");
  });
}
