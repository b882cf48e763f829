/** Pushes: composes new ones, and lists sent ones with their results. */

import { parse, pause, POLL, send } from "../../core/api.js";
import { h, iconButton, put } from "../../core/dom.js";
import { readSession, session, setTitle } from "../../core/session.js";
import { addWords, ago, count, cut, date, plain, shown, t } from "../../core/words.js";
import { confirm, keepFocus, openDialog, openMenu } from "../../parts/dialog.js";
import { empty, failed, loading, record, table, toast } from "../../parts/states.js";
import { linesLater } from "../settings/index.js";
import { composer, openReport } from "./compose.js";

addWords({
  "push.hint": "Notifications to the devices of your users.", "push.off": "Push is not set up", "push.offHint": "Set the option push. See docs/push.md.", "push.list": "Pushes",
  "push.none": "No push yet.", "push.sent": "Sent", "push.to": "To", "push.state.scheduled": "scheduled",
  "push.state.pending": "waiting", "push.state.running": "sending", "push.state.succeeded": "done", "push.state.failed": "failed", "push.dryRun": "dry run", "push.noText": "without a text",
  "push.actions": "Actions of the push \u201c{text}\u201d", "push.cancel": "Cancel the push", "push.cancelText": "\u201c{text}\u201d is not sent.", "push.cancelled": "The push is cancelled",
  "push.back": "The push is scheduled again", "push.begun": "It has already started.", "push.failures": "Devices that were not reached", "push.report": "Dry-run report", "push.show": "Content",
  "push.local": "{time}, in each device's time zone", "push.utc": "{time} UTC",
});

const STATES = ["scheduled", "pending", "running", "succeeded", "failed"];
const PAUSE = 1500;

export function open(scope) {
  setTitle(t("rail.push"));
  const list = h("section.panel", loading(3));
  const watch = { isOn: false };
  const again = () => {
    watch.measure?.();
    read(list, watch, scope);
  };
  const body = h(".scroll", empty({ picture: "push", title: t("push.off"), text: t("push.offHint"), more: linesLater("push") }), list);
  compose(body, list, again, watch, scope);
  again();
  return h(".page", h("header.head", h("h1", t("rail.push")), h("span.quiet.words", t("push.hint")), h(".space"), iconButton("refresh", t("grid.refresh"), again)), body);
}

/** Shows the form as soon as push is set up, for example after a restart. */
async function compose(body, list, again, watch, scope) {
  while (!session.peek().features.push) {
    await pause(scope);
    if (scope.aborted) return;
    await readSession({ headers: POLL }).catch(() => {});
  }
  put(body, composer(again, watch, scope), list);
}

/** Parses the content of a push, which is stored as JSON text. */
function payload(row) {
  try {
    const value = JSON.parse(row.payload ?? "{}");
    return value !== null && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

function textOf(row) {
  const { alert, title } = payload(row);
  const body = typeof alert === "string" ? alert : alert !== null && typeof alert === "object" ? alert.body ?? alert.title : title;
  return typeof body === "string" && body ? body : t("push.noText");
}

function whenOf({ pushTime, createdAt, status }) {
  if (status !== "scheduled" || typeof pushTime !== "string") return h("time", { title: date(createdAt, true) }, ago(createdAt));
  const time = pushTime.slice(0, 16).replace("T", " ");
  return t(/(Z|[+-]\d\d:?\d\d)$/.test(pushTime) ? "push.utc" : "push.local", { time });
}

async function read(host, watch, scope) {
  const again = () => read(host, watch, scope);
  let rows;
  try {
    rows = (await parse.get("classes/_PushStatus", { order: "-createdAt", limit: 50 }, { signal: scope })).body.results;
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  keepFocus(host, () => put(host, h("h2", t("push.list")), rows.length === 0 ? h("p.quiet", t("push.none"))
    : table(t("push.list"), [[t("word.text")], [t("word.state")], [t("push.sent"), ".right"], [t("word.failed"), ".right"], [t("push.to"), ".wide.mono"], [t("word.when"), ".wide"], ["", ".actions"]], rows.map((row) => [
      [shown(textOf(row), 120), row.errorMessage && h("div.bad", shown(typeof row.errorMessage === "string" ? row.errorMessage : row.errorMessage.error ?? JSON.stringify(row.errorMessage), 200))],
      isDryRun(row) && row.status === "succeeded" ? t("push.dryRun") : h("span", { class: row.status === "failed" ? "bad" : "" }, STATES.includes(row.status) ? t("push.state." + row.status) : shown(row.status ?? "", 30)),
      isDryRun(row) ? "\u2013" : count(row.numSent ?? 0), isDryRun(row) ? "\u2013" : h("span", { class: row.numFailed ? "bad" : "quiet" }, count(row.numFailed ?? 0)),
      !row.query || row.query === "{}" ? h("span.quiet", t("cell.everybody")) : shown(typeof row.query === "string" ? row.query : JSON.stringify(row.query), 120), whenOf(row), menu(row, again)]))));
  if (watch.isOn || !rows.some(({ status }) => ["pending", "running"].includes(status))) return;
  watch.isOn = true;
  await pause(scope, PAUSE);
  watch.isOn = false;
  if (!scope.aborted) await again();
}

const isDryRun = ({ source }) => source === "dryRun";

const menu = (row, again) => iconButton("more", t("push.actions", { text: cut(textOf(row), 40) }), (event) => openMenu(event.currentTarget, [
  { words: t("push.show"), icon: "code", do: () => openDialog({ title: t("push.show"), kind: "sheet" }, () => ({ body: h("pre.mono.wrap", plain(JSON.stringify(payload(row), null, 2), 20_000).replaceAll("\u23ce", "\n")) })) },
  isDryRun(row) && { words: t("push.report"), icon: "check", do: () => openReport(row, "report") },
  !isDryRun(row) && { words: t("push.failures"), icon: "warn", do: () => openReport(row, "failures") },
  row.status === "scheduled" && { words: t("push.cancel"), icon: "close", isDanger: true, do: () => cancel(row, again) },
]));

async function cancel(row, again) {
  if (!(await confirm({ title: t("push.cancel"), text: t("push.cancelText", { text: cut(textOf(row), 80) }), button: t("push.cancel"), isDanger: true }))) return;
  try {
    const { headers } = await parse.delete("classes/_PushStatus/" + encodeURIComponent(row.objectId), { headers: { "X-Roost-If-Updated-At": row.updatedAt } });
    record(t("push.cancelled"), async () => {
      await send("POST", `trash/${encodeURIComponent(headers.get("X-Roost-Trash"))}/restore`, { body: {} });
      again();
      return t("push.back");
    });
  } catch (problem) {
    toast(problem.status === 409 ? t("push.begun") : problem.message, { isBad: true });
  }
  again();
}
