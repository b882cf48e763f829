/** The form of a new object: the fields that an object begins with, required ones first. */

import { objectPath, parse } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { plain } from "../core/text.js";
import { t } from "../core/words.js";
import { openDialog } from "../parts/dialog.js";
import { ranked } from "./columns.js";
import { valueInput } from "./editors/value-input.js";
import { record } from "./history.js";
import { Row } from "./rows.js";
import { isReadOnly } from "./schema.js";
import { setOwn } from "./values.js";
import "./words.js";

/** Asks for the fields; the object stands on top of the rows afterwards. */
export async function openNew(page) {
  const { className, description } = page;
  const fields = ranked(description).filter((field) => !isReadOnly(className, field) && !["ACL", "Relation", "File"].includes(field.type))
    .sort((left, right) => Number(Boolean(right.required)) - Number(Boolean(left.required)));
  const object = await openDialog({ title: t("new.title", { class: className }), kind: "sheet" }, (close) => {
    const inputs = fields.map((field) => ({ field, input: valueInput(field, field.defaultValue), problem: h("p.problem", { role: "alert" }) }));
    const general = h("p.problem", { role: "alert" });
    const create = async () => {
      if (submit.disabled) return;
      const body = {};
      let first;
      for (const { field, input, problem } of inputs) {
        put(problem);
        let value;
        try {
          value = input.read();
        } catch (refusal) {
          put(problem, refusal.message);
          first ??= input;
          continue;
        }
        if (field.required && value === undefined) {
          put(problem, t("new.missing", { field: field.name }));
          first ??= input;
        } else if (value !== undefined) setOwn(body, field.name, value);
      }
      if (first) {
        first.focus();
        return;
      }
      put(general);
      // A role without an ACL is refused.
      if (className === "_Role") body.ACL = { "*": { read: true } };
      submit.disabled = true;
      try {
        const answer = className === "_User" ? await parse.post("users", body) : await parse.post(objectPath(className), body);
        delete body.password;
        close({ ...body, ...answer.body, updatedAt: answer.body.updatedAt ?? answer.body.createdAt });
      } catch (problem) {
        submit.disabled = false;
        const named = inputs.find(({ field }) => problem.message.includes(`'${field.name}'`) || problem.message.includes(`"${field.name}"`) || new RegExp(`\\b${field.name}\\b`).test(problem.message));
        put(named?.problem ?? general, plain(problem.message, 300));
        (named?.input ?? inputs[0]?.input)?.focus();
      }
    };
    const submit = h("button.button.primary", { type: "submit" }, t("new.create"));
    const form = h("form.form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); create(); } },
      inputs.map(({ field, input, problem }) => h(".field-row",
        h("label.line", { for: input.id }, h("bdi", plain(field.name, 60)),
          h("span.label", field.targetClass ? `${field.type} ${plain(field.targetClass)}` : field.type),
          field.required && h("span.tag", t("new.required"))),
        input.element, problem)), general);
    form.addEventListener("keydown", (event) => { 
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      create();
    });
    submit.addEventListener("click", (event) => { event.preventDefault(); create(); });
    return { body: form, foot: [button(".button", () => close(), t("cancel")), submit] };
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
