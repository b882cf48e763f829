/** Operators of the console: who has an account, with which role, and what is kept from him. For owners. */

import { send } from "../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../core/dom.js";
import { session } from "../core/session.js";
import { addWords, plain, said, shown, t } from "../core/words.js";
import { classes, loadClasses } from "../data/schema.js";
import { isEqual } from "../data/values.js";
import { confirm, openDialog, openForm } from "../parts/dialog.js";
import { complain, failed, loading, toast } from "../parts/states.js";

addWords({
  "operators.hint": "Accounts of this console; users of the app are none of them.",
  "operators.none": "Nobody has an account yet.",
  "operators.new": "New operator",
  "operators.change": "Change {name}",
  "operators.delete": "Delete {name}",
  "operators.deleteText": "{name} is signed out everywhere, and cannot sign in again.",
  "operators.name": "Name",
  "operators.password": "Password",
  "operators.newPassword": "New password, or nothing for the one that is",
  "operators.role": "Role",
  "operators.create": "Add operator",
  "operators.you": "you",
  "operators.added": "{name} may sign in",
  "operators.changed": "{name} is changed, and signed out",
  "operators.deleted": "{name} is deleted",
  "operators.missing": "A name and a password are needed.",
  "operators.totp": "Codes at sign-in are on",
  "operators.totpOff": "Turn codes off, for who has lost the app",
  "operators.only": "Only some classes",
  "operators.onlyHint": "Other classes are not there for this operator, nor are users, configuration and the schema's changes.",
  "operators.limit": "Only {classes}",
  "operators.hides": "without {fields}",
  "operators.hidden": "Hidden fields of {class}",
  "operators.chooseClass": "Choose at least one class.",
  "role.means.owner": "everything, operators too",
  "role.means.developer": "objects, files, classes, configuration",
  "role.means.editor": "objects and files",
  "role.means.viewer": "reads",
});

/** Roles, the last two of which may be limited. */
const ROLES = ["owner", "developer", "editor", "viewer"];
const isLimitable = (role) => role === "editor" || role === "viewer";

/** Opens the list. */
export function openOperators() {
  const host = h(".form", loading(3));
  if (!classes.peek()) loadClasses();
  openDialog({ title: t("rail.operators"), kind: "sheet" }, () => ({ body: host }));
  draw(host);
}

async function draw(host) {
  try {
    const { body } = await send("GET", "operators");
    const again = () => draw(host);
    put(host, h("p.quiet", t("operators.hint")), body.operators.length === 0 && h("p", t("operators.none")),
      body.operators.map((entry) => line(entry, again)), h(".line", button(".button", () => edit(undefined, again), icon("plus"), t("operators.new"))));
  } catch (problem) {
    put(host, failed(problem, () => draw(host)));
  }
}

/** What is kept from an operator, in words. */
function limitsOf({ classes: some, hidden }) {
  const names = (list) => said(list.map((name) => plain(name, 40)).join(", "));
  const fields = Object.entries(hidden ?? {}).flatMap(([name, list]) => list.map((field) => `${name}.${field}`));
  return [some && t("operators.limit", { classes: names(some) }), fields.length > 0 && t("operators.hides", { fields: names(fields) })].filter(Boolean).join(", ");
}

function line(entry, again) {
  const isSelf = entry.id === session.peek().operator.id;
  const remove = async () => {
    if (!(await confirm({ title: t("operators.delete", { name: entry.name }), text: t("operators.deleteText", { name: entry.name }), button: t("operators.delete", { name: entry.name }), isDanger: true }))) return;
    await attempt(() => send("DELETE", "operators/" + encodeURIComponent(entry.id)), t("operators.deleted", { name: entry.name }));
    again();
  };
  return h(".line.member", h(".grow", h("div", shown(entry.name, 60), isSelf && h("span.quiet", ` \u00b7 ${t("operators.you")}`)),
    h(".quiet", [t("role." + entry.role), limitsOf(entry)].filter(Boolean).join(" \u00b7 "))),
  iconButton("config", t("operators.change", { name: entry.name }), () => edit(entry, again)),
  !isSelf && iconButton("trash", t("operators.delete", { name: entry.name }), remove));
}

async function attempt(work, done) {
  try {
    await work();
    toast(done);
  } catch (problem) {
    complain(problem);
  }
}

/** Boxes for classes, and below each chosen one for the fields that stay hidden: `{ element, read() }`. */
function limits(entry, role) {
  const only = h("input", { type: "checkbox", checked: Boolean(entry?.classes), onchange: () => show() });
  const hidden = new Map(Object.entries(entry?.hidden ?? {}).map(([name, list]) => [name, new Set(list)]));
  const chosen = new Set(entry?.classes ?? []);
  const list = h(".form");
  const box = (words, set, key, after) => h("label.line", h("input", { type: "checkbox", checked: set.has(key), onchange: ({ target }) => { set[target.checked ? "add" : "delete"](key); after?.(); } }), h("bdi", plain(words, 60)));
  const fieldsOf = (name) => {
    if (!hidden.has(name)) hidden.set(name, new Set());
    const fields = [...classes.peek().get(name).fields.keys()].filter((field) => !["objectId", "createdAt", "updatedAt", "password"].includes(field));
    return h("details.inside", { open: hidden.get(name).size > 0 }, h("summary", t("operators.hidden", { class: name })), fields.map((field) => box(field, hidden.get(name), field)));
  };
  const element = h(".form", h("label.line", only, t("operators.only")), h("p.quiet", t("operators.onlyHint")), list);
  const show = () => {
    element.hidden = !isLimitable(role.value);
    list.hidden = !only.checked;
    if (list.childElementCount || !only.checked) return;
    put(list, [...(classes.peek()?.keys() ?? [])].map((name) => {
      const fields = h("div");
      const drawFields = () => put(fields, chosen.has(name) && fieldsOf(name));
      drawFields();
      return h("div", box(name, chosen, name, drawFields), fields);
    }));
  };
  show();
  return { element, show, read() {
    if (!isLimitable(role.value) || !only.checked) return { classes: null, hidden: null };
    if (chosen.size === 0) throw new Error(t("operators.chooseClass"));
    const kept = [...hidden].filter(([name, fields]) => chosen.has(name) && fields.size > 0).map(([name, fields]) => [name, [...fields].sort()]);
    return { classes: [...chosen].sort(), hidden: kept.length > 0 ? Object.fromEntries(kept) : null };
  } };
}

async function edit(entry, again) {
  const name = textField({ autofocus: !entry, maxlength: "60" });
  const password = textField({ type: "password", autocomplete: "new-password" });
  const role = h("select", { onchange: () => limit.show() }, ROLES.map((key) => option(key, `${t("role." + key)}: ${t("role.means." + key)}`, key === (entry?.role ?? "viewer"))));
  const limit = limits(entry, role);
  const before = safely(limit.read);
  const code = entry?.totp && h("input", { type: "checkbox" });
  const isSaved = await openForm({ title: entry ? t("operators.change", { name: entry.name }) : t("operators.new"), button: t(entry ? "save" : "operators.create") }, () => ({
    body: [!entry && labelled(t("operators.name"), name), labelled(t("operators.role"), role), labelled(t(entry ? "operators.newPassword" : "operators.password"), password),
      code && h("div", h("p.quiet", t("operators.totp")), h("label.line", code, t("operators.totpOff"))), limit.element],
    async save() {
      const limited = limit.read();
      // What an operator is not limited by is left out where nobody was limited before.
      const wasLimited = !isEqual(limited, before);
      const given = Object.fromEntries(Object.entries(limited).filter(([, value]) => value !== null || (entry && wasLimited)));
      if (!entry) {
        if (!name.value.trim() || !password.value) throw new Error(t("operators.missing"));
        await send("POST", "operators", { body: { name: name.value.trim(), password: password.value, role: role.value, ...given } });
        toast(t("operators.added", { name: name.value.trim() }));
        return true;
      }
      const change = { ...(role.value === entry.role ? {} : { role: role.value }), ...(password.value ? { password: password.value } : {}), ...(code?.checked ? { totp: false } : {}), ...(wasLimited ? given : {}) };
      if (Object.keys(change).length === 0) return true;
      await send("PUT", "operators/" + encodeURIComponent(entry.id), { body: change });
      toast(t("operators.changed", { name: entry.name }));
      return true;
    },
  }));
  if (isSaved) again();
}

/** What is chosen, or nothing while that is not complete. */
function safely(read) {
  try {
    return read();
  } catch {
    return null;
  }
}
