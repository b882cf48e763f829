/** The editors of relation members and ACL entries. */

import { objectPath, parse, SHORTEN } from "../../core/api.js";
import { button, h, iconButton, labelled, problemLine, put } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { addWords, plain, said, shown, t } from "../../core/words.js";
import { loading, record } from "../../parts/states.js";
import { limitsOf } from "../access.js";
import { sentence, summary, who } from "../cells.js";
import { refresh } from "../save.js";
import { classes, learn, nameOf } from "../schema.js";
import { copy, isEqual, pointer, setOwn } from "../values.js";
import { pointerField } from "./pointer.js";

addWords({
  "relation.count": "{n} {n|member|members}", "relation.none": "No members yet", "relation.add": "Add {class}", "relation.remove": "Remove {name}",
  "relation.added": "{name} added to {field}", "relation.removed": "{name} removed from {field}",
  "relation.there": "{name} is already a member.", "relation.gone": "{name} is no longer a member.", "relation.undone": "{field} restored",
});

const PAGE = 100;

/** Creates the editor of a relation. Changes are stored immediately. */
export function editRelation({ className, row, field, close }) {
  const target = field.targetClass;
  const list = h(".members", loading(3));
  const number = h("p.quiet", { role: "status" });
  const problem = problemLine();
  const where = { $relatedTo: { object: pointer(className, row.id), key: field.name } };
  let members = [];
  let total = 0;
  const read = async (skip = 0) => {
    try {
      const { body } = await parse.get(objectPath(target), { where, limit: PAGE, skip, count: 1, order: "-createdAt" }, { headers: SHORTEN });
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
    const write = async (name) => {
      await parse.put(objectPath(className, row.id), setOwn({}, field.name, { __op: name, objects: [pointer(target, id)] }));
      // Others' changes of the object are displayed before the next edit, which is conditional on the displayed state.
      await refresh(className, row);
    };
    try {
      const name = nameOf(target, id) || id;
      const isAdded = operation === "AddRelation";
      // A choice that changed nothing can't be undone, because undo would remove an earlier member or add a missing one.
      if ((await parse.get(objectPath(target), { where: { ...where, objectId: id }, count: 1, limit: 0 })).body.count > 0 === isAdded) {
        await read();
        put(problem, t(isAdded ? "relation.there" : "relation.gone", { name }));
        return;
      }
      await write(operation);
      record(t(isAdded ? "relation.added" : "relation.removed", { name, field: field.name }), async () => {
        await write(isAdded ? "RemoveRelation" : "AddRelation");
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
    members.length < total && button(".link", () => read(members.length), t("word.showMore")));
  };
  const choice = pointerField(target, { label: t("relation.add", { class: target }), isOpen: true, picked: async ({ objectId }) => {
    choice.clear();
    await change("AddRelation", objectId);
    choice.input.focus();
  } });
  read();
  return { body: [mayWrite() && labelled(t("relation.add", { class: target }), choice.element), number, list, problem] };
}

addWords({
  "access.open": "No permissions of its own (ACL): everybody may read and change this if the class allows it.", "access.master": "Only the master key may read and change this.", "access.has": "This object has permissions of its own (ACL)",
  "access.read": "Read", "access.addUser": "Add a user", "access.addRole": "Add a role",
  "access.everybody": "Add everybody", "access.remove": "Remove {who}", "access.may": "{right}: {who}",
});

/** Creates the editor of an ACL: sentences with a matrix below. As part of a form (`isPart`) it doesn't take the focus. */
export function editAccess({ className, value, draft = value, isPart = false }) {
  const limits = limitsOf(classes.peek().get(className).permissions);
  let acl = draft === undefined || draft === null ? undefined : copy(draft);
  const words = h("div.sentences", { role: "status" });
  const table = h("table.matrix");
  const has = h("input", { type: "checkbox", autofocus: !isPart, checked: acl !== undefined, onchange: () => { acl = has.checked ? (value && copy(value)) ?? {} : undefined; draw(); } });
  const set = (key, right, isOn) => {
    const rights = { ...(Object.hasOwn(acl, key) ? acl[key] : {}) };
    if (isOn) rights[right] = true;
    else delete rights[right];
    setOwn(acl, key, rights);
    draw();
  };
  const box = (key, right) => h("td", h("input", {
    type: "checkbox", checked: acl[key]?.[right] === true, "aria-label": t("access.may", { right: t("access." + right), who: said(who(key)) }), onchange: (event) => set(key, right, event.target.checked),
  }));
  const draw = () => {
    const { isOpen } = summary(acl, limits.isLimited);
    const sentences = acl === undefined ? [t("access.open")] : Object.entries(acl).map(([key, rights]) => sentence(key, rights)).filter(Boolean);
    put(words, (sentences.length > 0 ? sentences : [t("access.master")]).map((one) => h("p", { class: isOpen ? "warn" : "" }, one)),
      sentences.length > 0 ? limits.words && h("p.quiet", limits.words) : limits.shut && h("p.warn", limits.shut));
    table.hidden = acl === undefined;
    adding.hidden = acl === undefined;
    if (acl === undefined) return;
    everybody.style.visibility = Object.hasOwn(acl, "*") ? "hidden" : "";
    put(table, h("thead", h("tr", h("th", t("word.who")), h("th", t("access.read")), h("th", t("word.change")), h("th", h("span.sr", t("file.remove"))))),
      h("tbody", Object.keys(acl).map((key) => h("tr", h("th", { scope: "row" }, h("bdi", who(key))), box(key, "read"), box(key, "write"),
        h("td", iconButton("close", t("access.remove", { who: said(who(key)) }), () => { delete acl[key]; draw(); }))))));
  };
  const find = (className, keyOf, label) => {
    const choice = pointerField(className, { label: t(label), isOpen: true, picked: (_, object) => {
      setOwn(acl, keyOf(object), { read: true });
      choice.clear();
      draw();
    } });
    return choice.element;
  };
  const everybody = button(".button", () => { setOwn(acl, "*", { read: true }); draw(); }, t("access.everybody"));
  const adding = h(".adding", find("_User", (user) => user.objectId, "access.addUser"), find("_Role", (role) => `role:${role.name ?? role.objectId}`, "access.addRole"), everybody);
  draw();
  return {
    // What is added comes last and moves nothing.
    body: [h("label.line", has, t("access.has")), adding, table, h(".card", words)],
    read: () => {
      if (acl !== undefined) for (const key of Object.keys(acl)) if (Object.keys(acl[key]).length === 0) delete acl[key];
      return isEqual(acl, value) && (acl === undefined) === (value === undefined) ? null : { value: acl };
    },
    focus: () => has.focus(),
  };
}
