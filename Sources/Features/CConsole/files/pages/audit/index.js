/** The audit log: all changes made through the console, by operator, class and object. */

import { send } from "../../core/api.js";
import { h, icon, option, put, textField } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, date, plain, said, shown, t } from "../../core/words.js";
import { tree } from "../../data/editors/tree.js";
import { classes } from "../../data/schema.js";
import { notOne, parseDate } from "../../data/values.js";
import { openDialog } from "../../parts/dialog.js";
import { complain, empty, failed, loading, table } from "../../parts/states.js";

addWords({
  "audit.hint": "Sign-ins and changes in the console.", "audit.operator": "Operator", "audit.object": "Object id", "audit.kind": "Action", "audit.from": "From",
  "audit.until": "Until", "audit.time": "{name} ({example})", "audit.allKinds": "All actions", "audit.nothing": "Nothing matches", "audit.nothingHint": "Remove a filter to see more.",
  "audit.what": "What", "audit.result": "Result", "audit.refused": "refused ({status})", "audit.unknown": "unknown", "audit.done": "done", "audit.newest": "Newest",
  "audit.older": "Older", "audit.request": "Request {id} from {address}", "audit.fields": "Fields: {fields}", "audit.before": "Before", "audit.after": "After",
  "audit.kind.POST": "Creations and calls", "audit.kind.PUT": "Changes", "audit.kind.DELETE": "Deletions", "audit.kind.GET": "Views as a user", "audit.kind.session": "Sign-ins", "audit.at": "from {address}",
  // Sentences: by path and method, or else a verb and a noun.
  "audit.POST": "Created {what}", "audit.PUT": "Changed {what}", "audit.DELETE": "Deleted {what}", "audit.GET": "Viewed {what}", "audit.save": "Saved {what}", "audit.other": "Sent another request", "audit.failed": "Failed: {what}",
  "audit.of.objects": "{n} {n|object|objects} of {class}", "audit.of.schemas": "the class {class}", "audit.of.permissions": "the permissions of {class}", "audit.of.field": "the {n|field|fields} {name} of {class}", "audit.of.purge": "all objects of {class}", "audit.of.indexes": "an index of {class}",
  "audit.of.views": "a saved view", "audit.of.settings": "the setting {name}", "audit.of.files": "the file {name}", "audit.of.hooks": "a webhook", "audit.of.config": "the app config",
  "audit.of.operators": "the operator {name}", "audit.of.password": "their own password", "audit.of.totp": "their authenticator app", "audit.of.sessions": "a console session", "audit.of.backups": "a backup",
  "audit.is.session.POST": "Signed in", "audit.is.session.DELETE": "Signed out", "audit.is.session.failed": "Failed to sign in: wrong name, password, key or code",
  "audit.is.confirm.POST": "Entered the password or key again", "audit.is.confirm.failed": "Entered a wrong password, key or code", "audit.is.invitation.POST": "Invited {name}",
  "audit.of.cloud_code": "a job schedule", "audit.is.requestPasswordReset.POST": "Requested a password reset for {name}",
  "audit.locked": "Locked out the user {name}", "audit.unlocked": "Unlocked the user {name}",
  "audit.is.imports.POST": "Imported {what}", "audit.is.exports.POST": "Exported {what}", "audit.is.trash.POST": "Restored {what}", "audit.is.functions.POST": "Called the function {name}",
  "audit.is.push.POST": "Sent a push", "audit.is.push.dryRun": "Tried a push (dry run)", "audit.is.jobs.POST": "Started the job {name}", "audit.is.tasks.DELETE": "Stopped an index build", "audit.is.doctor.POST": "Fixed a finding", "audit.is.once.POST": "Downloaded a backup",
});

/** The filters in the address, with their names in the API. */
const CHOICES = { operator: "operator", class: "className", object: "objectId", kind: "method", from: "from", until: "until" };

const KINDS = ["session", "POST", "PUT", "DELETE", "GET"];

export function open(scope) {
  setTitle(t("rail.audit"));
  const body = h(".scroll", loading());
  const foot = h(".log-foot");
  const choose = (change) => {
    const { query } = route.peek();
    go(address("audit", [], { ...Object.fromEntries(Object.keys(CHOICES).map((name) => [name, query.get(name)])), ...change }));
  };
  const field = (name) => textField({ placeholder: t("audit." + name), "aria-label": t("audit." + name), onchange: (event) => choose({ [name]: event.target.value.trim() }) });
  const time = (name) => textField({
    placeholder: t("audit.time", { name: t("audit." + name), example: name === "from" ? "2 days ago" : "now" }), "aria-label": t("audit." + name),
    onchange: ({ target }) => {
      const text = target.value.trim();
      const at = text && parseDate(text);
      if (at === undefined) complain(notOne(text, { name: t("audit." + name), type: "Date" }));
      else choose({ [name]: at });
    },
  });
  const inputs = {
    operator: field("operator"), object: field("object"),
    kind: h("select", { "aria-label": t("audit.kind"), onchange: (event) => choose({ kind: event.target.value }) }),
    from: time("from"), until: time("until"),
    class: h("select", { "aria-label": t("word.class"), onchange: (event) => choose({ class: event.target.value }) }),
  };
  const next = latest(scope);
  effect(() => {
    const { page, query } = route();
    if (page !== "audit") return;
    const chosen = query.get("class") ?? "";
    const names = new Set([...(classes()?.keys() ?? []), ...(chosen ? [chosen] : [])]);
    put(inputs.class, option("", t("word.allClasses")), [...names].sort().map((name) => option(name, plain(name, 60), name === chosen)));
    put(inputs.kind, option("", t("audit.allKinds")), KINDS.map((kind) => option(kind, t("audit.kind." + kind), kind === query.get("kind"))));
    for (const name of ["from", "until"]) inputs[name].value = query.get(name) ? date(query.get(name)) : "";
    for (const name of ["operator", "object"]) if (document.activeElement !== inputs[name]) inputs[name].value = query.get(name) ?? "";
    read({ body, foot, query, scope: next() });
  }, scope);
  return h(".page", h("header.head", h("h1", t("rail.audit")), h("span.quiet.words", t("audit.hint"))),
    h(".filters", Object.keys(CHOICES).map((name) => h(".narrow", inputs[name]))), body, foot);
}

async function read(place) {
  const { body, foot, query, scope } = place;
  const wanted = Object.fromEntries(Object.entries(CHOICES).map(([name, called]) => [name === "kind" && query.get(name) === "session" ? "path" : called, query.get(name) || undefined]));
  try {
    const { body: answer } = await send("GET", "audit", { query: { ...wanted, before: query.get("before") ?? undefined }, signal: scope });
    put(body, answer.rows.length > 0 ? entries(answer.rows)
      : empty({ picture: "clock", title: t("audit.nothing"), text: t("audit.nothingHint") }));
    const page = (before) => address("audit", [], { ...Object.fromEntries(query), before });
    put(foot, h(".space"), query.get("before") && h("a.button", { href: page() }, icon("up"), t("audit.newest")),
      answer.next && h("a.button", { href: page(String(answer.next)) }, icon("down"), t("audit.older")));
    body.scrollTop = 0;
  } catch (problem) {
    if (scope.aborted) return;
    put(foot);
    put(body, failed(problem, () => read(place)));
  }
}

const who = ({ operator }) => (operator ? shown(operator, 60) : t("word.nobodyName"));
const entries = (rows) => table(t("rail.audit"), [[t("audit.what")], [t("word.when")], [t("word.who")], [t("word.objects"), ".wide"], [t("audit.result"), ".right"]], rows.map((row) => [
  h("button.link.wrap", { onclick: () => show(row) }, sentence(row)), h("time", { title: date(row.at, true) }, ago(row.at)),
  [who(row), row.role !== row.operator && h("span.quiet", " ", plain(row.role ?? "", 20)), h("div.quiet", t("audit.at", row))], links(row, 3), result(row)]));

/** Returns the words of a key, or "" if there are none. */
const known = (key, places) => [t(key, places)].find((text) => text !== key) ?? "";

function sentence({ method, path = "", className, count, fields, status, before, after }) {
  const [head, id, last] = path.split("/");
  // Sessions of users are objects.
  const kind = className === "_Session" ? "" : head === "operators" && last ? last : path === "backups/once" ? id : head;
  const changed = (kind === "schemas" && method === "PUT" && after) || {};
  const names = Object.keys(changed.fields ?? {});
  const part = names.length ? "field" : changed.classLevelPermissions ? "permissions" : kind;
  const places = { class: className ?? "", n: names.length || count || 1, name: names.join(", ") || (head === "operators" && (after?.name ?? before?.name)) || id || (after?.email ?? "") };
  const isListed = method === "PUT" && (className || kind === "operators") && fields?.length > 0;
  places.what = said(known("audit.of." + part, places) || (className && t("audit.of.objects", places)));
  const [was, is] = [before, after].map((value) => className === "_User" && value?.ACL && !Object.keys(value.ACL)[0]);
  const own = after?.ACL && !was !== !is ? t(is ? "audit.locked" : "audit.unlocked", { name: last ?? id }) : known("audit.is." + kind + "." + (status === 401 ? "failed" : kind === "push" && after?.dry_run ? "dryRun" : method), places);
  const verb = names.length ? (names.every((name) => changed.fields[name]?.__op) ? "DELETE" : "save") : path === "batch" && method === "POST" ? "PUT" : method;
  const text = own || (places.what.text ? t("audit." + verb, places) + (isListed ? `: ${fields.slice(0, 3).map((name) => plain(name, 30)).join(", ")}` : "") : t("audit.other", places));
  return status >= 400 && status !== 401 ? t("audit.failed", { what: said(text) }) : text;
}

function result({ status }) {
  if (!status) return h("span.warn", t("audit.unknown"));
  return status < 400 ? h("span.quiet", t("audit.done")) : h("span.bad", t("audit.refused", { status: String(status) }));
}

/** Creates links to the objects, which may no longer exist. */
function links({ className, ids, count }, most) {
  if (!className || !ids?.length) return null;
  const rest = Math.max(count ?? 0, ids.length) - most;
  return [ids.slice(0, most).map((id) => [h("a.mono", { href: address("data", [className, id]) }, plain(id, 24)), " "]), rest > 0 && h("span.quiet", t("cell.more", { n: rest }))];
}

function show(row) {
  const part = (name, value) => value !== null && value !== undefined && h("section", h("h3.label", t("audit." + name)),
    tree(typeof value === "object" ? value : { "": value }).element);
  openDialog({ title: sentence(row), kind: "sheet" }, () => ({
    body: [
      h("p", who(row), " \u00b7 ", h("time", date(row.at, true)), " \u00b7 ", result(row)),
      h("code.wrap", plain(`${row.method} ${row.path}`, 500)),
      h("p.quiet", t("audit.request", { id: row.requestId ?? "", address: row.address ?? "" })),
      row.fields?.length > 0 && h("p", t("audit.fields", { fields: row.fields.map((name) => plain(name, 60)).join(", ") })),
      row.ids?.length > 0 && h("section", h("h3.label", t("word.objects")), h("p.wrap", links(row, 100))),
      part("before", row.before), part("after", row.after),
    ],
  }));
}
