/** The members of a relation: a list with names, adding by a picker, removing. */

import { objectPath, parse } from "../../core/api.js";
import { button, h, iconButton, labelled, problemLine, put } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { loading } from "../../parts/states.js";
import { record } from "../../parts/toast.js";
import { learn, nameOf } from "../names.js";
import { pointer, setOwn } from "../values.js";
import { pointerField } from "./pointer.js";

addWords({
  "relation.count": "{n} {n|member|members}",
  "relation.none": "No members yet",
  "relation.add": "Add {class}",
  "relation.remove": "Remove {name}",
  "relation.more": "Show more",
  "relation.added": "{name} added to {field}",
  "relation.removed": "{name} removed from {field}",
  "relation.undone": "{field} is as before",
});

const PAGE = 100;

/** Members are stored as they are chosen. */
export function edit({ className, row, field, close }) {
  const target = field.targetClass;
  const list = h(".members", loading(3));
  const number = h("p.quiet", { role: "status" });
  const problem = problemLine();
  const where = { $relatedTo: { object: pointer(className, row.id), key: field.name } };
  let members = [];
  let total = 0;
  const read = async (skip = 0) => {
    try {
      const { body } = await parse.get(objectPath(target), { where, limit: PAGE, skip, count: 1, order: "-createdAt" }, { headers: { "X-Roost-Shorten": "256" } });
      members = [...members.slice(0, skip), ...body.results];
      total = body.count;
      for (const object of body.results) learn(target, object);
      draw();
    } catch (refusal) {
      put(list);
      put(problem, refusal.message);
    }
  };
  const change = async (operation, id) => {
    put(problem);
    const body = (name) => setOwn({}, field.name, { __op: name, objects: [pointer(target, id)] });
    try {
      const { body: answer } = await parse.put(objectPath(className, row.id), body(operation));
      row.set("updatedAt", answer.updatedAt ?? row.updatedAt);
      const name = nameOf(target, id) || id;
      const isAdded = operation === "AddRelation";
      record(t(isAdded ? "relation.added" : "relation.removed", { name, field: field.name }), async () => {
        await parse.put(objectPath(className, row.id), body(isAdded ? "RemoveRelation" : "AddRelation"));
        if (list.isConnected) await read();
        return t("relation.undone", { field: field.name });
      });
      await read();
    } catch (refusal) {
      put(problem, plain(refusal.message, 300));
    }
  };
  const draw = () => {
    put(number, t("relation.count", { n: total }));
    put(list, members.length === 0 ? h("p.quiet", t("relation.none")) : members.map((object) => h(".line.member",
      h("a", { href: address("data", [target, object.objectId]), onclick: () => close() }, shown(nameOf(target, object.objectId) || object.objectId, 80)),
      h("code.quiet", plain(object.objectId, 24)), h(".space"),
      mayWrite() && iconButton("close", t("relation.remove", { name: nameOf(target, object.objectId) || object.objectId }), () => change("RemoveRelation", object.objectId)))),
    members.length < total && button(".link", () => read(members.length), t("relation.more")));
  };
  const choice = pointerField(target, { label: t("relation.add", { class: target }), isOpen: true, picked: async ({ objectId }) => {
    choice.clear();
    await change("AddRelation", objectId);
    choice.input.focus();
  } });
  read();
  return { body: [mayWrite() && labelled(t("relation.add", { class: target }), choice.element), number, list, problem] };
}
