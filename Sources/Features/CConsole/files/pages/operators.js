/** The operators of the console and their roles, for owners. */

import { send } from "../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../core/dom.js";
import { session } from "../core/session.js";
import { addWords, shown, t } from "../core/words.js";
import { confirm, openDialog, openForm } from "../parts/dialog.js";
import { complain, copyButton, failed, loading, record, recordFinal } from "../parts/states.js";

addWords({
  "operators.hint": "Accounts of this console, separate from the users of your app.", "operators.none": "Nobody has an account yet.", "operators.new": "New operator", "operators.change": "Change {name}",
  "operators.delete": "Delete {name}", "operators.deleteText": "{name} is signed out everywhere, and cannot sign in again.", "operators.newPassword": "New password (empty: unchanged)",
  "operators.role": "Role", "operators.create": "Add operator", "operators.you": "you", "operators.added": "{name} can sign in", "operators.changed": "{name} changed and signed out",
  "operators.missing": "Enter a name and a password.", "operators.mail": "Write an email", "operators.send": "Send this to {name}. Send the password another way.", "operators.email": "Email address",
  "operators.invited": "Email sent to {email}", "operators.invitation": "Open {address} and sign in as {name}.", "operators.totp": "Codes at sign-in are on",
  "operators.totpOff": "Turn codes off, if the app is lost", "role.means.owner": "everything, operators too", "role.means.developer": "objects, files, classes, configuration",
  "role.means.editor": "objects and files", "role.means.viewer": "reads",
});

const ROLES = ["owner", "developer", "editor", "viewer"];

export function openOperators() {
  const host = h(".form", loading(3));
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

function line(entry, again) {
  const isSelf = entry.id === session.peek().operator.id;
  const remove = async () => {
    if (!(await confirm({ title: t("operators.delete", { name: entry.name }), text: t("operators.deleteText", { name: entry.name }), button: t("operators.delete", { name: entry.name }), isDanger: true }))) return;
    await attempt(() => send("DELETE", "operators/" + encodeURIComponent(entry.id)), t("word.deleted", { name: entry.name }));
    again();
  };
  return h(".line.member", h(".grow", h("div", shown(entry.name, 60), isSelf && h("span.quiet", ` \u00b7 ${t("operators.you")}`)),
    h(".quiet", t("role." + entry.role))),
  iconButton("config", t("operators.change", { name: entry.name }), () => edit(entry, again)),
  !isSelf && iconButton("trash", t("operators.delete", { name: entry.name }), remove));
}

async function attempt(work, done) {
  try {
    await work();
    record(done);
  } catch (problem) {
    complain(problem);
  }
}

async function edit(entry, again) {
  const name = textField({ autofocus: !entry, maxlength: "60" });
  const password = textField({ type: "password", autocomplete: "new-password" });
  const role = h("select", ROLES.map((key) => option(key, `${t("role." + key)}: ${t("role.means." + key)}`, key === (entry?.role ?? "viewer"))));
  const code = entry?.totp && h("input", { type: "checkbox" });
  const saved = await openForm({ title: entry ? t("operators.change", { name: entry.name }) : t("operators.new"), button: t(entry ? "save" : "operators.create") }, () => ({
    body: [!entry && labelled(t("word.name"), name), labelled(t("operators.role"), role), labelled(t(entry ? "operators.newPassword" : "word.password"), password),
      code && h("div", h("p.quiet", t("operators.totp")), h("label.line", code, t("operators.totpOff")))],
    focus: ({ message }) => (/password/.test(message) && (entry || name.value) ? password : entry ? role : name).focus(),
    async save() {
      if (!entry) {
        if (!name.value.trim() || !password.value) throw new Error(t("operators.missing"));
        return (await send("POST", "operators", { body: { name: name.value.trim(), password: password.value, role: role.value } })).body;
      }
      const change = { ...(role.value === entry.role ? {} : { role: role.value }), ...(password.value ? { password: password.value } : {}), ...(code?.checked ? { totp: false } : {}) };
      if (Object.keys(change).length === 0) return true;
      await send("PUT", "operators/" + encodeURIComponent(entry.id), { body: change });
      record(t("operators.changed", { name: entry.name }));
      return true;
    },
  }));
  if (!saved) return;
  again();
  if (!entry) invite(saved);
}

/** Shows the invitation of a new operator, to copy or, if mail is configured, to send by the server. */
function invite({ id, name, address }) {
  const text = t("operators.invitation", { name, address });
  const title = t("operators.added", { name });
  recordFinal(title);
  const body = (...more) => [h("p", t("operators.send", { name })), h("pre.mono.code", text), h(".line", copyButton(text), more)];
  if (!session.peek().features.mails) {
    openDialog({ title }, () => ({ body: body(h("a.button", { href: `mailto:?subject=${encodeURIComponent(t("app.title"))}&body=${encodeURIComponent(text)}` }, t("operators.mail"))) }));
    return;
  }
  const email = textField({ type: "email", autofocus: true });
  openForm({ title, button: t("word.sendMail") }, () => ({ body: [body(), labelled(t("operators.email"), email)], async save() {
    await send("POST", `operators/${encodeURIComponent(id)}/invitation`, { body: { email: email.value } });
    record(t("operators.invited", { email: email.value }));
  } }));
}
