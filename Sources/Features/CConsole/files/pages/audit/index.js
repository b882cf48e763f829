/** The audit log: all changes made through the console, by operator, class and object. */

import { send } from "../../core/api.js";
import { h, icon, option, put, textField } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, date, plain, shown, t } from "../../core/words.js";
import { tree } from "../../data/editors/tree.js";
import { classes } from "../../data/schema.js";
import { notOne, parseDate } from "../../data/values.js";
import { openDialog } from "../../parts/dialog.js";
import { complain, empty, failed, loading, table } from "../../parts/states.js";

addWords({
  "audit.hint": "Changes made in the console. Nobody can change these entries.", "audit.operator": "Operator", "audit.object": "Object id", "audit.kind": "Kind", "audit.from": "From",
  "audit.until": "Until", "audit.time": "{name} ({example})", "audit.allKinds": "All kinds", "audit.none": "No changes yet",
  "audit.noneHint": "Each change made in the console appears here with operator, time and the value before.", "audit.nothing": "Nothing matches", "audit.nothingHint": "Remove a filter to see more.",
  "audit.what": "What", "audit.result": "Result", "audit.did.POST": "created", "audit.sent": "sent", "audit.did.PUT": "changed", "audit.did.DELETE": "deleted", "audit.did.GET": "read", "audit.import": "import of", "audit.restored": "restored",
  "audit.session.POST": "signed in", "audit.session.DELETE": "signed out", "audit.refused": "refused ({status})", "audit.unknown": "unknown", "audit.done": "done", "audit.newest": "Newest",
  "audit.older": "Older", "audit.open": "{what}, {path}", "audit.request": "Request {id} from {address}", "audit.fields": "Fields: {fields}", "audit.before": "Before", "audit.after": "After",
});

/** The filters in the address, with their names in the API. */
const CHOICES = { operator: "operator", class: "className", object: "objectId", kind: "method", from: "from", until: "until" };

const KINDS = ["POST", "PUT", "DELETE", "GET"];

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
    put(inputs.kind, option("", t("audit.allKinds")), KINDS.map((kind) => option(kind, t("audit.did." + kind), kind === query.get("kind"))));
    for (const name of ["from", "until"]) inputs[name].value = query.get(name) ? date(query.get(name)) : "";
    for (const name of ["operator", "object"]) if (document.activeElement !== inputs[name]) inputs[name].value = query.get(name) ?? "";
    read({ body, foot, query, scope: next() });
  }, scope);
  return h(".page", h("header.head", h("h1", t("rail.audit")), h("span.quiet.words", t("audit.hint"))),
    h(".filters", Object.keys(CHOICES).map((name) => h(".narrow", inputs[name]))), body, foot);
}

async function read(place) {
  const { body, foot, query, scope } = place;
  const wanted = Object.fromEntries(Object.entries(CHOICES).map(([name, called]) => [called, query.get(name) || undefined]));
  try {
    const { body: answer } = await send("GET", "audit", { query: { ...wanted, before: query.get("before") ?? undefined }, signal: scope });
    const isAll = Object.values(wanted).every((value) => value === undefined);
    put(body, answer.rows.length > 0 ? entries(answer.rows)
      : empty({ picture: "clock", title: t(isAll ? "audit.none" : "audit.nothing"), text: t(isAll ? "audit.noneHint" : "audit.nothingHint") }));
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

const entries = (rows) => table(t("rail.audit"), [[t("audit.what")], [t("word.when")], [t("word.who")], [t("word.objects"), ".wide"], [t("audit.result")]], rows.map((row) => [
  [h("button.link.wrap", { "aria-label": t("audit.open", { what: said(row), path: row.path ?? "" }), onclick: () => show(row) }, said(row)), h("div.quiet.mono", shown(row.path ?? "", 80))],
  h("time", { title: date(row.at, true) }, ago(row.at)), [shown(row.operator ?? "", 40), row.role !== row.operator && h("span.quiet", " ", plain(row.role ?? "", 20))], links(row, 3), result(row)]));

function said({ method, path, className, count, fields }) {
  if (path === "session") return t("audit.session." + method);
  const of = className ? plain(className, 40) : "";
  const names = (fields ?? []).slice(0, 3).map((name) => plain(name, 30)).join(", ");
  const did = method === "POST" && !className ? "sent" : "did." + (path === "batch" ? "PUT" : method);
  return [t("audit." + (path === "imports" ? "import" : /^trash\/[^/]+\/restore$/.test(path) ? "restored" : did)), count > 1 && t("grid.objects", { n: count }) + " \u00b7", of, method === "PUT" && names && `\u00b7 ${names}`].filter(Boolean).join(" ");
}

function result({ status }) {
  if (status === null || status === undefined) return h("span.warn", t("audit.unknown"));
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
    tree(value !== null && typeof value === "object" ? value : { "": value }).element);
  openDialog({ title: said(row), kind: "sheet" }, () => ({
    body: [
      h("p", shown(row.operator ?? "", 60), " \u00b7 ", h("time", date(row.at, true)), " \u00b7 ", result(row)),
      h("code.wrap", plain(`${row.method} ${row.path}`, 500)),
      h("p.quiet", t("audit.request", { id: row.requestId ?? "", address: row.address ?? "" })),
      row.fields?.length > 0 && h("p", t("audit.fields", { fields: row.fields.map((name) => plain(name, 60)).join(", ") })),
      row.ids?.length > 0 && h("section", h("h3.label", t("word.objects")), h("p.wrap", links(row, 100))),
      part("before", row.before), part("after", row.after),
    ],
  }));
}
