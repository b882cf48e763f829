/** Creates objects. */

import { objectPath, parse } from "../../core/api.js";
import { h, iconButton, problemLine, put } from "../../core/dom.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { valueInput } from "../../data/editors/inline.js";
import { pointerField } from "../../data/editors/pointer.js";
import { Row, viewsOf } from "../../data/rows.js";
import { isReadOnly, nameOf, namingField, ranked } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { openForm } from "../../parts/dialog.js";
import { record } from "../../parts/states.js";

addWords({
  "new.title": "New object of {class}", "new.create": "Create", "new.done": "{object} created", "new.missing": "{field} is required.",
  "new.required": "required", "new.access": "Permissions (ACL)", "new.undone": "New object removed",
});

/** Fields without which the server refuses an object, although they aren't marked. */
const NEEDED = new Map([["_User", ["username", "password"]], ["_Role", ["name"]]]);

/** Creates the field of a file, which is uploaded when it is chosen. */
function fileInput(edit) {
  let chosen;
  const element = h("div", edit({ save: ({ value }) => { chosen = value; } }).body);
  return { element, read: () => chosen, focus: () => element.querySelector("input").focus() };
}

function relationInput({ targetClass }) {
  const chosen = new Map();
  const list = h("div");
  const draw = () => put(list, [...chosen.values()].map(({ objectId }) => {
    const name = nameOf(targetClass, objectId) || objectId;
    return h(".line.member", h(".grow", shown(name, 60)), iconButton("close", t("relation.remove", { name }), () => { chosen.delete(objectId); draw(); }));
  }));
  const choice = pointerField(targetClass, { label: t("relation.add", { class: targetClass }), isOpen: true, picked: (found) => {
    chosen.set(found.objectId, found);
    choice.clear();
    draw();
  } });
  return {
    element: h("div", choice.element, list), focus: () => choice.input.focus(),
    read: async () => {
      await choice.read();
      return chosen.size > 0 ? { __op: "AddRelation", objects: [...chosen.values()] } : undefined;
    },
  };
}

/** Asks for the fields of a new object, which then appears at the top of the rows. */
export async function openNew(page) {
  const { className, description } = page;
  const [{ edit }, { editAccess }] = await Promise.all([import("../../data/editors/file.js"), import("../../data/editors/members.js")]);
  // The server sets the ACL of a new user. A role without an ACL is rejected. A public default ACL isn't stored.
  const given = className === "_Role" ? undefined : Object.entries(description.permissions ?? {}).find(([key, acl]) => key === "ACL" && !acl["*"]?.write)?.[1];
  const access = className !== "_User" && editAccess({ className, value: given, draft: className === "_Role" ? { "*": { read: true } } : given, isPart: true });
  const inputFor = (field) => (field.type === "File" ? fileInput(edit) : field.type === "Relation" ? relationInput(field) : valueInput(field, field.defaultValue));
  const fields = ranked(description).filter((field) => !isReadOnly(className, field) && field.type !== "ACL")
    .map((field) => ({ ...field, required: Boolean(field.required || NEEDED.get(className)?.includes(field.name)) }))
    .sort((left, right) => Number(right.required) - Number(left.required));
  const object = await openForm({ title: page.title ?? t("new.title", { class: className }), kind: "sheet", button: t("new.create"), asks: true, isShort: Boolean(page.title) }, () => {
    const inputs = fields.map((field) => ({ field, input: inputFor(field), problem: problemLine() }));
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
      const change = access && access.read();
      if (change) body.ACL = change.value ?? { "*": { read: true, write: true } };
      try {
        const answer = await parse.post(className === "_User" ? "users" : objectPath(className), body);
        delete body.password;
        for (const { name, type, targetClass } of fields) if (type === "Relation") setOwn(body, name, { __type: "Relation", className: targetClass });
        return { ...body, ...answer.body, updatedAt: answer.body.updatedAt ?? answer.body.createdAt };
      } catch (refusal) {
        const words = refusal.message.split(/[^A-Za-z0-9_]+/);
        const entry = inputs.find(({ field }) => words.includes(field.name));
        if (!entry) throw refusal;
        complain(entry, refusal.message);
        throw new Error("");
      }
    };
    const body = h(".form", inputs.map(({ field, input, problem }) => h(".field-row", { oninput: () => put(problem), onclick: () => put(problem) },
      h("label.line", { for: input.id }, h("bdi", plain(field.name, 60)),
        h("span.label", field.targetClass ? `${field.type} ${plain(field.targetClass)}` : field.type),
        field.required && h("span.tag", t("new.required"))),
      input.element, problem)), access && h(".field-row", h("span", t("new.access")), access.body));
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
  record(t("new.done", { object: plain(object[namingField(className)] || t("new.title", { class: className }), 60) }), async () => {
    await parse.delete(objectPath(className, object.objectId));
    for (const view of viewsOf(className)) view.remove(object.objectId);
    return t("new.undone");
  });
}
