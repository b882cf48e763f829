/** Cloud code: functions, triggers, jobs, webhooks and the hosts that run them. */

import { parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../../core/dom.js";
import { address, route } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, count, date, plain, said, shown, t } from "../../core/words.js";
import { confirm, openForm, openMenu } from "../../parts/dialog.js";
import { complain, empty, failed, loading, record, table as plainTable, toast } from "../../parts/states.js";

addWords({
  "cloud.functions": "Functions", "cloud.triggers": "Triggers", "cloud.jobs": "Jobs", "cloud.hooks": "Webhooks", "cloud.hosts": "Hosts", "cloud.event": "Event", "cloud.host": "Runs in",
  "cloud.checks": "Requires", "cloud.calls": "Calls", "cloud.last": "Last call", "cloud.host.node": "Node.js", "cloud.host.swift": "Swift", "cloud.host.webhook": "a webhook", "cloud.state.ready": "ready",
  "cloud.state.starting": "starting", "cloud.state.down": "not running", "cloud.processes": "{n} of {wanted} {wanted|process|processes}", "cloud.counted": "Calls of this process since it started.",
  "cloud.ms": "{text} ms", "cloud.noCheck": "nothing", "cloud.empty.functions": "No functions yet", "cloud.empty.triggers": "No triggers yet", "cloud.empty.hosts": "Nothing runs cloud code",
  "cloud.emptyHint": "Write cloud code in JavaScript, in Swift or as webhooks: see docs/cloud-code.md.", "check.user": "a session", "check.master": "the master key", "check.any": "one of the roles {names}",
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
    else if (name !== undefined) (await import("./call.js")).openFunction(body, (cloud.functions ?? []).find((one) => one.name === name) ?? { name, calls: 0, errors: 0 }, scope);
    else draw(body, tab, cloud[tab] ?? []);
  } catch (problem) {
    if (!scope.aborted) put(body, failed(problem, again));
  }
}

export function checks(validator) {
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

function draw(body, tab, list) {
  put(body, list.length === 0 ? empty({ picture: "cloud", title: t("cloud.empty." + tab), text: t("cloud.emptyHint") }) : table(t("cloud." + tab), ROWS[tab].titles, list.map(ROWS[tab].row)));
}

addWords({
  "hook.new": "New webhook", "hook.what": "Called for", "hook.function": "function {name}", "hook.trigger": "{event} of {class}",
  "hook.kind.function": "a function", "hook.kind.trigger": "a trigger of a class", "hook.kind": "For", "hook.name": "Name of the function",
  "hook.change": "Change the address", "hook.deleteText": "{what} is no longer sent to {url}.", "hook.actions": "Actions of {what}", "hook.empty": "No webhooks",
  "hook.emptyHint": "A webhook calls your server for a function or trigger and sends the option webhookKey.", "hook.saved": "{what} is sent to {url}",
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
  toast(t("hook.saved", { what: inWords(hook), url: masked(hook.url) }));
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
