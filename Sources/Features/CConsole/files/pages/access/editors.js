/** The editors of a class's permissions. Each shows who gains or loses access before the change is stored. */

import { parse } from "../../core/api.js";
import { h, iconButton, labelled, option, put } from "../../core/dom.js";
import { addWords, plain, said, t } from "../../core/words.js";
import { areSame, consequences, contains, entryOf, hidingConsequences, isWider, letIn, names, own, principal, sentenceOf, withKey } from "../../data/access.js";
import { editAccess } from "../../data/editors/members.js";
import { pointerField } from "../../data/editors/pointer.js";
import { change, classes, nameOf, replaceClass, schemaPath } from "../../data/schema.js";
import { copy, isEqual, setOwn } from "../../data/values.js";
import { openForm, openMenu } from "../../parts/dialog.js";
import { record } from "../../parts/states.js";

addWords({
  "perm.edit": "Permission: {operation}", "perm.stays": "{operation} stays open to: {who}.", "perm.both": "Change {operations} in the same way",
  "perm.saved": "Permissions of {class} changed", "perm.undone": "Permissions of {class} restored",
  "perm.changedSince": "The permissions of {class} were changed meanwhile. Nothing was stored.", "perm.everybody": "Everybody",
  "perm.loggedIn": "Logged-in users", "perm.also": "And these", "perm.pointers": "The user that a field of the object points to",
  "perm.filters": "Only those logged-in users that a field of the object points to.", "perm.pointerTitle": "The users in these fields",
  "perm.readUserFields": "May find and get, whatever the permissions above say", "perm.writeUserFields": "May update and delete, whatever the permissions above say",
  "perm.hiddenTitle": "Hidden from {who}", "perm.hiddenHint": "Users in several groups miss only what all of them hide.",
  "perm.noList": "No rule for them", "perm.noPointers": "No field of {class} points to a user.",
});

/** Replaces permissions. Other permissions that were stored since are kept and displayed. */
async function replace(className, before, next) {
  const { body } = await parse.get(schemaPath(className));
  if (!areSame(body.classLevelPermissions, before)) {
    replaceClass(body);
    throw new Error(t("perm.changedSince", { class: className }));
  }
  await change(className, { classLevelPermissions: next ?? null });
}

async function store(className, before, next) {
  await replace(className, before, next);
  const after = classes.peek().get(className).permissions;
  record(t("perm.saved", { class: className }), async () => {
    await replace(className, after, before);
    return t("perm.undone", { class: className });
  });
}

/**
 * Opens a form for one key of the permissions; `build(draw)` returns `{ body, read(), also() }`, where `also` returns other keys that get
 * the same value, and `words(value)` describes a value.
 */
function edit(className, key, title, words, build) {
  const { permissions } = classes.peek().get(className);
  const before = own(permissions).get(key);
  const meaning = h("p.notice", { role: "status" });
  return openForm({ title, kind: "sheet", button: t("save") }, () => {
    let form;
    const draw = () => form && put(meaning, words(form.read()));
    form = build(draw);
    draw();
    return {
      body: [form.body, words(before) !== undefined && meaning],
      // Unchanged permissions aren't sent.
      save: async () => isEqual(form.read() ?? null, before ?? null)
        || store(className, permissions, [key, ...(form.also?.() ?? [])].reduce((next, name) => withKey(next, name, form.read()), permissions)),
    };
  });
}

const check = (words, checked, onchange, title) => h("label.line", { title }, h("input", { type: "checkbox", checked, onchange: (event) => onchange(event.target.checked) }), words);

const userFields = (className, also = []) => [...new Set([...[...classes.peek().get(className).fields.values()]
  .filter(({ type, targetClass }) => type === "Array" || (type === "Pointer" && targetClass === "_User")).map(({ name }) => name), ...also])];

const READS = ["find", "get", "count"];

export function editOperation(className, operation) {
  const { permissions } = classes.peek().get(className);
  const title = t("perm.edit", { operation: t("clp." + operation) });
  return edit(className, operation, title, (entry) => consequences(permissions, operation, entry ?? entryOf(permissions, operation)), (draw) => {
    const entry = copy(entryOf(permissions, operation));
    const before = names(own(entry).get("pointerFields"));
    const fields = operation === "create" ? before : userFields(className, before);
    const list = h("div");
    const hint = h("p.quiet", t("perm.filters"));
    const others = h("div");
    let isForAll = false;
    const wider = () => (READS.includes(operation) && !isEqual(entry, entryOf(permissions, operation)) ? READS.filter((other) => other !== operation && isWider(permissions, other, operation, entry)) : []);
    const set = (key, value) => {
      if (value) setOwn(entry, key, value);
      else delete entry[key];
      show();
    };
    const show = () => {
      const given = own(entry);
      put(list, [...given.keys()].filter((key) => !["*", "requiresAuthentication", "pointerFields"].includes(key))
        .map((key) => h(".line.member", h(".grow", principal(key)), iconButton("close", t("access.remove", { who: said(principal(key)) }), () => set(key, null)))));
      hint.hidden = !given.get("requiresAuthentication") || contains(letIn(entry, permissions, operation), "requiresAuthentication");
      const stay = wider();
      put(others, stay.map((other) => h("p.warn", t("perm.stays", { operation: t("clp." + other), who: said(sentenceOf(permissions, other)) }))),
        stay.length > 0 && check(t("perm.both", { operations: stay.map((other) => t("clp." + other)).join(", ") }), isForAll, (isOn) => { isForAll = isOn; }));
      draw();
    };
    const add = (target, keyOf, label) => {
      const choice = pointerField(target, { label: t(label), isOpen: true, picked: (_, object) => {
        set(keyOf(object), true);
        choice.clear();
      } });
      return labelled(t(label), choice.element);
    };
    const box = (words, key) => check(words, own(entry).get(key) === true, (isOn) => set(key, isOn));
    const body = h(".form", box(t("perm.everybody"), "*"), box(t("perm.loggedIn"), "requiresAuthentication"), h("h3.label", t("perm.also")), list,
      add("_Role", (role) => `role:${role.name ?? role.objectId}`, "access.addRole"), add("_User", (user) => user.objectId, "access.addUser"),
      fields.length > 0 && [h("h3.label", t("perm.pointers")), fields.map((field) => check(plain(field, 60), before.includes(field), (isOn) => {
        const pointers = names(own(entry).get("pointerFields"));
        const next = isOn ? [...pointers, field] : pointers.filter((name) => name !== field);
        set("pointerFields", next.length > 0 ? next : null);
      }))], hint, others);
    show();
    return { body, read: () => entry, also: () => (isForAll ? wider() : []) };
  });
}

/** Edits the fields whose users may read or change an object. */
export function editPointers(className, key) {
  const before = names(own(classes.peek().get(className).permissions).get(key));
  let chosen = [...before];
  return edit(className, key, t("perm.pointerTitle"), () => undefined, (draw) => {
    const fields = userFields(className, before);
    return {
      body: h(".form", h("p", t("perm." + key)), fields.length === 0 && h("p.quiet", t("perm.noPointers", { class: className })), fields.map((field) => check(plain(field, 60), chosen.includes(field), (isOn) => {
        chosen = isOn ? [...chosen, field] : chosen.filter((name) => name !== field);
        draw();
      }))),
      read: () => (chosen.length > 0 || before.length > 0 ? chosen : undefined),
    };
  });
}

/** Edits the fields that are hidden from a group. */
export function editHidden(className, key) {
  const { permissions, fields } = classes.peek().get(className);
  const all = own(own(permissions).get("protectedFields"));
  const before = names(all.get(key));
  let chosen = [...before];
  let isRule = true;
  const title = t("perm.hiddenTitle", { who: said(principal(key)) });
  return edit(className, "protectedFields", title, () => hidingConsequences(before, isRule ? chosen : []), (draw) => {
    const known = [...fields.values()].filter(({ name, type }) => type !== "Password" && !["objectId", "createdAt", "updatedAt", "ACL"].includes(name)).map(({ name }) => name);
    const boxes = h(".form");
    const show = () => {
      put(boxes, [...new Set([...known, ...before])].map((field) => check(plain(field, 60), chosen.includes(field), (isOn) => {
        chosen = isOn ? [...chosen, field] : chosen.filter((name) => name !== field);
        draw();
      })));
      boxes.hidden = !isRule;
    };
    show();
    return {
      body: h(".form", h("p.quiet", t("perm.hiddenHint")), key !== "*" && check(t("perm.noList"), false, (isOff) => { isRule = !isOff; show(); draw(); }), boxes),
      read: () => {
        const next = {};
        for (const [name, value] of all) if (name !== key) setOwn(next, name, value);
        return isRule ? setOwn(next, key, chosen) : next;
      },
    };
  });
}

addWords({
  "perm.group.role": "A role …", "perm.group.user": "A user …", "perm.group.field": "The user in a field …", "perm.which": "Which", "perm.choose": "Choose",
});

/** Asks for a group, then for the fields to hide from it. */
export function addHidden(className, anchor) {
  const ask = (title, element, key) => openForm({ title, button: t("perm.choose") }, () => ({ body: labelled(t("perm.which"), element), save: async () => key() || Promise.reject(new Error(t("perm.which"))) }))
    .then((found) => found && editHidden(className, found));
  const find = (target, title, keyOf) => {
    const choice = pointerField(target, { isOpen: true });
    ask(t(title), choice.element, () => {
      const { objectId } = choice.chosen() ?? {};
      return objectId && keyOf({ objectId, name: nameOf(target, objectId) });
    });
  };
  openMenu(anchor, [
    { words: t("perm.everybody"), do: () => editHidden(className, "*") },
    { words: t("perm.loggedIn"), do: () => editHidden(className, "authenticated") },
    { words: t("perm.group.role"), do: () => find("_Role", "perm.group.role", (role) => `role:${role.name ?? role.objectId}`) },
    { words: t("perm.group.user"), do: () => find("_User", "perm.group.user", (user) => user.objectId) },
    userFields(className).length > 0 && { words: t("perm.group.field"), do: () => {
      const select = h("select", userFields(className).map((name) => option(name, plain(name, 60))));
      ask(t("perm.group.field"), select, () => `userField:${select.value}`);
    } },
  ].filter(Boolean), { label: t("access.hide") });
}

/** Edits the permissions of new objects without an ACL. */
export function editDefault(className) {
  return edit(className, "ACL", t("access.new"), () => undefined, () => {
    const { permissions } = classes.peek().get(className);
    const value = own(permissions).get("ACL");
    const form = editAccess({ className, value });
    return { body: h(".form", form.body), read: () => {
      const change = form.read();
      return change === null ? value : change.value;
    } };
  });
}
