/** Webhooks: functions and triggers that other servers answer. */

import { parse } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../../core/dom.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { confirm, openForm, openMenu } from "../../parts/dialog.js";
import { complain, empty, failed, record, toast } from "../../parts/states.js";
import { table } from "./index.js";

addWords({
  "hook.new": "New webhook",
  "hook.what": "Called for",
  "hook.url": "Address",
  "hook.function": "function {name}",
  "hook.trigger": "{event} of {class}",
  "hook.kind.function": "a function",
  "hook.kind.trigger": "a trigger of a class",
  "hook.kind": "For",
  "hook.name": "Name of the function",
  "hook.class": "Class",
  "hook.event": "Event",
  "hook.change": "Change the address",
  "hook.deleteText": "{what} is no longer sent to {url}.",
  "hook.actions": "Actions of {what}",
  "hook.empty": "No webhook",
  "hook.emptyHint": "A webhook sends calls of a function, or of a trigger, to a server of yours. The option webhookKey lets that server know who calls.",
  "hook.saved": "{what} is sent to {url}",
  "hook.deleted": "The webhook of {what} is deleted",
  "hook.back": "The webhook of {what} is as before",
  "hook.since": "The address was changed since, and stays.",
  "hook.bad": "An address begins with http or https, two slashes, and the name of a server.",
});

const EVENTS = ["beforeSave", "afterSave", "beforeDelete", "afterDelete", "beforeFind", "afterFind", "beforeLogin", "afterLogin", "afterLogout"];

/** What an address shows: no password in it. */
const masked = (url) => String(url).replace(/\/\/[^/?#]*@/, "//\u2026@");
const inWords = (hook) => (hook.functionName ? t("hook.function", { name: hook.functionName }) : t("hook.trigger", { event: hook.triggerName ?? "", class: hook.className ?? "" }));
const path = (hook) => (hook.functionName ? `hooks/functions/${encodeURIComponent(hook.functionName)}` : `hooks/triggers/${encodeURIComponent(hook.className)}/${encodeURIComponent(hook.triggerName)}`);

/** Lists webhooks in a part of the page. */
export async function openHooks(host, scope) {
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
    table(t("cloud.hooks"), [["", "hook.what"], ["", "hook.url"], [".actions", ""]], hooks.map((hook) => [["", shown(inWords(hook), 200)], [".mono", shown(masked(hook.url), 300)],
      [".actions", iconButton("more", t("hook.actions", { what: inWords(hook) }), (event) => openMenu(event.currentTarget, [
        { words: t("hook.change"), icon: "link", do: () => change(hook, again) },
        { words: t("delete"), icon: "trash", isDanger: true, do: () => remove(hook, again) },
      ]))]])), add]);
}

function address(input) {
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
  const draw = () => put(fields, kind.value === "function" ? labelled(t("hook.name"), name) : [labelled(t("hook.class"), className), labelled(t("hook.event"), event)]);
  draw();
  await openForm({ title: t("hook.new"), button: t("save") }, () => ({
    body: [labelled(t("hook.kind"), kind), fields, labelled(t("hook.url"), url)],
    async save() {
      const hook = kind.value === "function" ? { functionName: name.value.trim() } : { className: className.value.trim(), triggerName: event.value };
      await store("post", { ...hook, url: address(url) }, again);
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
    body: labelled(t("hook.url"), url),
    async save() {
      const next = { ...hook, url: address(url) };
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
