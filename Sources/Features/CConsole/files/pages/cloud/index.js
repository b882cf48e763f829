/** Cloud code: functions, triggers, jobs, webhooks and the hosts that run them. */

import { parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { address, route } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, count, date, plain, said, shown, t } from "../../core/words.js";
import { drawValue } from "../../data/cells.js";
import { tree } from "../../data/editors/tree.js";
import { typeOf } from "../../data/schema.js";
import { confirm, keepFocus, openForm, openMenu } from "../../parts/dialog.js";
import { complain, empty, failed, loading, record, recordFinal, table as plainTable } from "../../parts/states.js";
import { lineRow, openLine } from "../logs/lines.js";
import { linesLater, pasted } from "../settings/index.js";

addWords({
  "cloud.functions": "Functions", "cloud.triggers": "Triggers", "cloud.jobs": "Jobs", "cloud.hooks": "Webhooks", "cloud.hosts": "Hosts", "cloud.event": "Event", "cloud.host": "Runs in",
  "cloud.checks": "Requires", "cloud.calls": "Calls", "cloud.last": "Last call", "cloud.host.node": "Node.js", "cloud.host.swift": "Swift", "cloud.host.webhook": "a webhook", "cloud.state.ready": "ready",
  "cloud.state.starting": "starting", "cloud.state.down": "not running", "cloud.processes": "{n} of {wanted} {wanted|process|processes}", "cloud.counted": "Calls of this server process since it started.",
  "cloud.ms": "{text} ms", "cloud.noCheck": "nothing", "cloud.begin": "Install Node.js. In the folder of the configuration file, run npm install parse and save this as cloud/main.js:", "cloud.empty.functions": "No functions yet", "cloud.empty.triggers": "No triggers yet", "cloud.empty.hosts": "Nothing runs cloud code",
  "cloud.emptyHint": "Your own code on the server, such as functions that apps call: see docs/cloud-code.md.", "check.user": "a session", "check.master": "the master key", "check.any": "one of the roles {names}",
  "check.all": "all of the roles {names}", "check.keys": "a user with {names}", "check.fields": "parameters {names}", "check.limit": "a rate limit", "check.code": "its own check",
  "check.notMaster": "also for the master key", "check.skips": "not called for the master key",
});

const TABS = ["functions", "triggers", "jobs", "hooks", "hosts"];

export function open(scope) {
  const host = h(".page");
  const next = latest(scope);
  effect(() => {
    const { page, parts } = route();
    if (page !== "cloud") return;
    const inner = next();
    setTitle(t("rail.cloud"));
    const tab = TABS.includes(parts[0]) ? parts[0] : "functions";
    show(host, tab, tab === "functions" ? parts[1] : undefined, inner);
  }, scope);
  return host;
}

const tabs = (chosen) => h("nav.tabs", { "aria-label": t("rail.cloud") }, TABS.map((tab) => h("a", {
  href: address("cloud", tab === "functions" ? [] : [tab]), "aria-current": tab === chosen ? "page" : null,
}, t("cloud." + tab))));

async function show(host, tab, name, scope) {
  const body = h(".scroll", loading());
  const again = () => show(host, tab, name, scope);
  put(host, h("header.head", h("h1", t("rail.cloud")), h("span.quiet.words", t("cloud.counted")), h(".space"), iconButton("refresh", t("grid.refresh"), again)), tabs(tab), body);
  try {
    if (tab === "hooks") {
      openHooks(body, scope);
      return;
    }
    const { body: cloud } = await send("GET", "cloud", { signal: scope });
    if (scope.aborted) return;
    if (tab === "jobs") (await import("./jobs.js")).openJobs(body, cloud, scope);
    else if (name !== undefined) openFunction(body, (cloud.functions ?? []).find((one) => one.name === name) ?? { name, calls: 0, errors: 0 }, scope);
    else draw(body, tab, cloud);
  } catch (problem) {
    if (!scope.aborted) put(body, failed(problem, again));
  }
}

function checks(validator) {
  const { requireUser, requireMaster, requireAnyUserRoles: any, requireAllUserRoles: all, requireUserKeys: keys, fields, rateLimit, code, validateMasterKey, skipWithMasterKey } = validator ?? {};
  const names = (list) => said(list.map((name) => plain(name, 40)).join(", "));
  const words = [requireUser && t("check.user"), requireMaster && t("check.master"), any && t("check.any", { names: names(any) }), all && t("check.all", { names: names(all) }),
    keys && t("check.keys", { names: names(keys) }),
    fields && t("check.fields", { names: names(fields.map(({ name, type, required }) => [name, type && `(${type})`, required && "*"].filter(Boolean).join(" "))) }),
    rateLimit && t("check.limit"), code && t("check.code"), validateMasterKey && t("check.notMaster"), skipWithMasterKey && t("check.skips")].filter(Boolean);
  return words.join("; ") || t("cloud.noCheck");
}

export const figures = ({ calls, errors, p50, p99, last }) => [
  [".right", count(calls ?? 0)], [".right", h("span", { class: errors ? "bad" : "quiet" }, count(errors ?? 0))], [".right.wide", p50 === undefined ? "" : t("cloud.ms", { text: p50 })],
  [".right.wide", p99 === undefined ? "" : t("cloud.ms", { text: p99 })], [".wide", last ? h("time", { title: date(last, true) }, ago(last)) : ""],
];

export const FIGURES = [[".right", "cloud.calls"], [".right", "word.failed"], [".right.wide", "word.p50"], [".right.wide", "word.p99"], [".wide", "cloud.last"]];

const ROWS = {
  functions: { titles: [["", "word.name"], [".wide", "cloud.host"], [".wide", "cloud.checks"], ...FIGURES], row: (one) => [["", h("a", { href: address("cloud", ["functions", one.name]) }, shown(one.name, 80))], hostCell(one), [".wide.quiet", checks(one.validator)], ...figures(one)] },
  triggers: { titles: [["", "word.class"], ["", "cloud.event"], [".wide", "cloud.host"], [".wide", "cloud.checks"], ...FIGURES], row: (one) => [["", shown(one.className, 80)], ["", shown(one.event, 40)], hostCell(one), [".wide.quiet", checks(one.validator)], ...figures(one)] },
  hosts: { titles: [["", "cloud.host"], ["", "word.state"], ["", "word.name"]], row: (one) => [["", t("cloud.host." + one.kind)], ["", h("span", { class: one.state === "ready" ? "" : "bad" }, t("cloud.state." + one.state))],
    ["", one.wanted === undefined ? "" : h("span.quiet", t("cloud.processes", { n: one.processes, wanted: one.wanted }), " \u00b7 Node.js ", shown(one.node, 20), " \u00b7 Parse ", shown(one.sdk, 20), " \u00b7 ", shown(one.file, 200))]] },
};

const hostCell = ({ host }) => [".wide.quiet", t("cloud.host." + host)];

/** Creates a table; `titles` and the cells of rows are `[kind, content]`, and the first cell of a row names it. */
export const table = (label, titles, rows) => plainTable(label, titles.map(([kind, words]) => [words && t(words), kind]),
  rows.map((cells) => cells.map(([kind, content], index) => (kind && kind !== titles[index][0] ? h("span" + kind, content) : content))));

const CODE = "Parse.Cloud.define('hello', ({ params }) => {\n  return 'Hello ' + params.name;\n});";

/** Creates the code to begin with and the lines that configure it, or returns false if cloud code already runs somewhere. */
export const beginning = ({ hosts = [] }) => hosts.length === 0 && h(".form", pasted(t("cloud.begin"), CODE), linesLater("cloud"));

function draw(body, tab, cloud) {
  const list = cloud[tab] ?? [];
  put(body, list.length === 0 ? empty({ picture: "cloud", title: t("cloud.empty." + tab), text: t("cloud.emptyHint"), more: beginning(cloud) }) : table(t("cloud." + tab), ROWS[tab].titles, list.map(ROWS[tab].row)));
}

addWords({
  "hook.new": "New webhook", "hook.what": "Called for", "hook.function": "function {name}", "hook.trigger": "{event} of {class}",
  "hook.kind.function": "a function", "hook.kind.trigger": "a trigger of a class", "hook.kind": "For", "hook.name": "Name of the function",
  "hook.change": "Change the address", "hook.deleteText": "{what} is no longer sent to {url}.", "hook.actions": "Actions of {what}", "hook.empty": "No webhooks",
  "hook.emptyHint": "A webhook runs a function or trigger on your own server. Calls carry the option webhookKey.", "hook.saved": "{what} is sent to {url}",
  "hook.deleted": "Webhook of {what} deleted", "hook.back": "Webhook of {what} restored", "hook.since": "The address has changed since and was kept.",
  "hook.bad": "Enter an http or https URL.",
});

const EVENTS = ["beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin", "afterLogin", "afterLogout"];

const masked = (url) => String(url).replace(/\/\/[^/?#]*@/, "//\u2026@");
const inWords = (hook) => (hook.functionName ? t("hook.function", { name: hook.functionName }) : t("hook.trigger", { event: hook.triggerName ?? "", class: hook.className ?? "" }));
const path = (hook) => (hook.functionName ? `hooks/functions/${encodeURIComponent(hook.functionName)}` : `hooks/triggers/${encodeURIComponent(hook.className)}/${encodeURIComponent(hook.triggerName)}`);

async function openHooks(host, scope) {
  const again = () => openHooks(host, scope);
  const add = button(".button.primary", () => create(again), icon("plus"), t("hook.new"));
  let hooks;
  try {
    const lists = await Promise.all(["functions", "triggers"].map((kind) => parse.get("hooks/" + kind, {}, { signal: scope })));
    hooks = lists.flatMap(({ body }) => (Array.isArray(body) ? body : [])).filter(({ url }) => url);
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  put(host, hooks.length === 0 ? empty({ picture: "link", title: t("hook.empty"), text: t("hook.emptyHint"), actions: [add] }) : [
    table(t("cloud.hooks"), [["", "hook.what"], ["", "word.address"], [".actions", ""]], hooks.map((hook) => [["", shown(inWords(hook), 200)], [".mono", shown(masked(hook.url), 300)],
      [".actions", iconButton("more", t("hook.actions", { what: inWords(hook) }), (event) => openMenu(event.currentTarget, [
        { words: t("hook.change"), icon: "link", do: () => change(hook, again) },
        { words: t("delete"), icon: "trash", isDanger: true, do: () => remove(hook, again) },
      ]))]])), add]);
}

function addressIn(input) {
  const text = input.value.trim();
  if (!/^https?:\/\/[^\s]+$/.test(text)) throw new Error(t("hook.bad"));
  return text;
}

async function create(again) {
  const kind = h("select", { onchange: () => draw() }, ["function", "trigger"].map((value) => option(value, t("hook.kind." + value))));
  const name = textField({ maxlength: "100" });
  const className = textField({ maxlength: "100" });
  const event = h("select", EVENTS.map((value) => option(value, value)));
  const url = textField({ type: "url" });
  const fields = h(".stack");
  const draw = () => put(fields, kind.value === "function" ? labelled(t("hook.name"), name) : [labelled(t("word.class"), className), labelled(t("cloud.event"), event)]);
  draw();
  await openForm({ title: t("hook.new"), button: t("save") }, () => ({
    body: [labelled(t("hook.kind"), kind), fields, labelled(t("word.address"), url)],
    async save() {
      const hook = kind.value === "function" ? { functionName: name.value.trim() } : { className: className.value.trim(), triggerName: event.value };
      await store("post", { ...hook, url: addressIn(url) }, again);
      return true;
    },
  }));
}

async function store(method, hook, again) {
  await (method === "post" ? parse.post(hook.functionName ? "hooks/functions" : "hooks/triggers", hook) : parse.put(path(hook), { url: hook.url }));
  record(t("hook.saved", { what: inWords(hook), url: masked(hook.url) }));
  again();
}

async function change(hook, again) {
  const url = textField({ type: "url", value: hook.url, autofocus: true });
  await openForm({ title: inWords(hook), button: t("save") }, () => ({
    body: labelled(t("word.address"), url),
    async save() {
      const next = { ...hook, url: addressIn(url) };
      await parse.put(path(hook), { url: next.url });
      record(t("hook.saved", { what: inWords(hook), url: masked(next.url) }), async () => {
        if ((await parse.get(path(hook))).body.url !== next.url) throw new Error(t("hook.since"));
        await parse.put(path(hook), { url: hook.url });
        again();
        return t("hook.back", { what: inWords(hook) });
      });
      again();
      return true;
    },
  }));
}

async function remove(hook, again) {
  const what = inWords(hook);
  if (!(await confirm({ title: plain(what, 100), text: t("hook.deleteText", { what, url: masked(hook.url) }), button: t("delete"), isDanger: true }))) return;
  try {
    await parse.delete(path(hook));
    record(t("hook.deleted", { what }), async () => {
      await parse.post(hook.functionName ? "hooks/functions" : "hooks/triggers", hook);
      again();
      return t("hook.back", { what });
    });
  } catch (problem) {
    complain(problem);
  }
  again();
}

addWords({
  "call.all": "All functions", "call.title": "Call {name}", "call.checked": "Requires: {checks}", "call.as": "Caller",
  "call.master": "with all rights (master key)", "call.nobody": "without signing in", "call.user": "a user", "call.who": "Name or id of the user",
  "call.noSession": "The code gets the user, but no session token.", "call.go": "Call", "call.answer": "Response", "call.took": "{ms} ms",
  "call.nothing": "No result.", "call.lines": "Log lines", "call.noLines": "No lines yet.", "call.object": "Parameters must be a JSON object: {problem}",
  "call.noUser": "There is no user {who}.", "call.changes": "The code runs for real. Its changes stay.",
});

function openFunction(host, entry, scope) {
  const params = h("textarea", { rows: "6", spellcheck: "false", value: JSON.stringify(Object.fromEntries((entry.validator?.fields ?? []).map(({ name, default: value }) => [name, value ?? null])), null, 2) });
  const who = textField({ "aria-label": t("call.who"), placeholder: t("call.who"), hidden: true });
  const hint = h("p.quiet", { hidden: true }, t("call.noSession"));
  const as = h("select", { onchange: () => { who.hidden = hint.hidden = as.value !== "user"; } }, ["master", "nobody", "user"].map((value) => option(value, t("call." + value))));
  const problem = problemLine();
  const answer = h(".panel", { hidden: true, role: "status" });
  const lines = h(".panel", { hidden: true });
  let followed;
  const go = button(".button.primary", call, icon("check"), t("call.go"));
  async function call() {
    put(problem);
    go.disabled = true;
    try {
      const body = read(params.value);
      const headers = await viewAs(as.value, who.value.trim(), scope);
      const began = performance.now();
      const outcome = await outcomeOf(parse.post("functions/" + encodeURIComponent(entry.name), body, { headers, signal: scope }), t("call.title", entry));
      if (scope.aborted) return;
      show(outcome, performance.now() - began);
      // The next call needn't wait for the log lines of this one.
      follow(outcome.requestId ?? outcome.headers?.get("X-Request-Id")).catch(() => { lines.hidden = true; });
    } catch (refusal) {
      if (!scope.aborted) put(problem, plain(refusal.message, 300));
    } finally {
      go.disabled = false;
    }
  }
  function show(outcome, ms) {
    const took = h("span.quiet", t("call.took", { ms: Math.round(ms) }));
    const result = outcome.body?.result;
    answer.hidden = false;
    put(answer, h("h2", t("call.answer"), " ", took), outcome instanceof Error
      ? [h("p.bad", t("word.failed")), h("p.mono.wrap", shown(outcome.message, 2000)), h("p.quiet", [outcome.code !== undefined && t("error.code", { code: String(outcome.code) }), String(outcome.status)].filter(Boolean).join(" \u00b7 "))]
      : result === undefined ? h("p.quiet", t("call.nothing")) : ["Object", "Array"].includes(typeOf(result)) ? tree(result).element : h("p", typeof result === "string" ? shown(result, 5000) : drawValue(result, { name: "result", type: typeOf(result) })));
  }
  /** Shows the log lines of a request. Waits for its last line, which is logged after its response was sent. */
  async function follow(id) {
    lines.hidden = !id;
    followed = id;
    for (let round = 0; id && round < 5; round += 1) {
      const { body } = await send("GET", "logs", { query: { request: id }, signal: scope });
      if (scope.aborted || followed !== id) return;
      keepFocus(lines, () => put(lines, h("h2", t("call.lines")), body.lines.length === 0 ? h("p.quiet", t("call.noLines"))
        : body.lines.map((line) => h("button.log-line", { onclick: () => openLine(line) }, lineRow(line)))));
      if (body.lines.some(({ message }) => message === "request")) return;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
  put(host, h("p.crumbs", h("a", { href: address("cloud") }, t("call.all"))), h("section.panel", h("h2", t("call.title", { name: entry.name })), h("p.quiet", t("call.checked", { checks: checks(entry.validator) })),
    labelled(t("word.params"), params), h(".line.wrap", labelled(t("call.as"), as), who), hint, h("p.quiet", t("call.changes")), problem, go), answer, lines);
  params.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go.click();
  });
}

/** Reads a JSON object of parameters. */
export function read(text) {
  let value;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch (problem) {
    throw new Error(t("call.object", { problem: problem.message }));
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(t("call.object", { problem: typeOf(value) ?? "null" }));
  return value;
}

/** Returns the header fields that select whose view is shown. */
export async function viewAs(kind, who, scope) {
  if (kind === "master") return {};
  if (kind === "nobody") return { "X-Roost-View-As": "anonymous" };
  const { body } = await parse.get("classes/_User", { where: { $or: [{ objectId: who }, { username: who }] }, keys: "username", limit: 1 }, { signal: scope });
  if (body.results.length === 0) throw new Error(t("call.noUser", { who }));
  return { "X-Roost-View-As": body.results[0].objectId };
}

/** Returns the response to a request, even if it was rejected. The shortcut for undo says that `change` can't be undone. */
export async function outcomeOf(sent, change) {
  const outcome = await sent.catch((refusal) => refusal);
  if (outcome instanceof Error && !outcome.status) throw outcome;
  // Code may have changed something before it failed.
  if (change) recordFinal(change);
  return outcome;
}
