/** Composes a push: content, audience with its size, and time; with dry runs and reports. */

import { parse } from "../../core/api.js";
import { button, debounce, h, icon, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { latest } from "../../core/signal.js";
import { addWords, bytes, count, plain, shown, t } from "../../core/words.js";
import { classes, loadClasses } from "../../data/schema.js";
import { setOwn } from "../../data/values.js";
import { confirm, openDialog, openForm } from "../../parts/dialog.js";
import { failed, loading, record, table } from "../../parts/states.js";

addWords({
  "compose.title": "Title", "compose.badge": "Badge", "compose.badge.keep": "unchanged", "compose.badge.add": "add 1", "compose.badge.clear": "none",
  "compose.more": "Languages and more", "compose.languages": "Texts by language, one per line: de | Titel | Text", "compose.data": "More for the app (JSON)",
  "compose.to": "To devices", "compose.devices": "{n} {n|device|devices}", "compose.counting": "counting\u2026", "compose.when.now": "now",
  "compose.when.at": "at a time (UTC)", "compose.when.local": "at a time in each device's time zone", "compose.time": "Date and time",
  "compose.expires": "Expires after hours (empty: never)", "compose.preview": "Preview", "compose.first": "To one device first\u2026", "compose.device": "Installation",
  "compose.trial": "Dry run: who would get it?", "compose.send": "Send to {n}", "compose.plan": "Schedule for {n}",
  "compose.sure": "\u201c{text}\u201d goes to {n} {n|device|devices}{when}. You can't undo this.", "compose.now": " now", "compose.later": " at {time}",
  "compose.typed": "Type {n} to send it", "compose.sent": "The push is on its way", "compose.planned": "The push is scheduled",
  "compose.noText": "Enter a text, a title or data.", "compose.badTime": "Write times like 2026-12-24 18:00.", "compose.past": "That time has passed.",
  "compose.badHours": "Hours must be 1 or more.", "compose.badLanguage": "Write languages like: de | Titel | Text",
  "compose.badData": "The data for the app is not a JSON object: {problem}", "compose.noDevice": "No installation has the id {id}.",
  "compose.waiting": "Dry run in progress\u2026", "compose.trialTitle": "A dry run: nothing was sent",
  "compose.slow": "The dry run has not ended yet. It is in the list below.",
});

/** The number of devices above which the operator must type the number before sending. */
const MANY = 1000;

/** Creates the form; `sent()` is called after a push was created. `watch.measure()` counts the devices again. */
export function composer(sent, watch, scope) {
  const page = { className: "_Installation", where: {}, scope, isAudience: true };
  const title = textField({ maxlength: "500" });
  const text = h("textarea", { rows: "3", maxlength: "4000" });
  const badge = h("select", ["keep", "add", "clear"].map((value) => option(value, t("compose.badge." + value))));
  const languages = h("textarea", { rows: "2", spellcheck: "false" });
  const data = h("textarea", { rows: "2", spellcheck: "false", placeholder: "{}" });
  const when = h("select", { "aria-label": t("word.when"), onchange: () => draw() }, ["now", "at", "local"].map((value) => option(value, t("compose.when." + value))));
  const time = textField({ value: new Date(Date.now() + 3_600_000).toISOString().slice(0, 16).replace("T", " "), "aria-label": t("compose.time"), oninput: () => draw() });
  const hours = textField({ inputmode: "numeric", maxlength: "5" });
  const chips = h(".filters", { role: "group", "aria-label": t("compose.to") });
  const number = h("b", { role: "status" }, t("compose.counting"));
  const preview = h(".notice.push-preview");
  const problem = problemLine();
  const go = button(".button.primary", () => attempt(send), t("compose.send", { n: "" }));
  const trial = button(".button", () => attempt(dryRun), icon("check"), t("compose.trial"));
  const first = button(".button", () => attempt(toOne), t("compose.first"));
  let devices;
  const next = latest(scope);

  async function attempt(work) {
    put(problem);
    for (const one of [go, trial, first]) one.disabled = true;
    try {
      await work();
    } catch (refusal) {
      if (!scope.aborted) put(problem, plain(refusal.message, 300));
    }
    for (const one of [go, trial, first]) one.disabled = false;
    draw();
  }
  /** Returns the push without its audience. */
  function read() {
    const content = data.value.trim() ? object(data.value) : {};
    if (title.value.trim()) setOwn(content, "title", title.value.trim());
    if (text.value.trim()) setOwn(content, "alert", text.value.trim());
    if (badge.value !== "keep") setOwn(content, "badge", badge.value === "add" ? "Increment" : 0);
    for (const line of languages.value.split("\n").filter((one) => one.trim())) {
      const [locale, localTitle, localText, ...rest] = line.split("|").map((part) => part.trim());
      if (!/^[A-Za-z]{2,3}([_-][A-Za-z0-9]{2,8})?$/.test(locale) || !localText || rest.length) throw new Error(t("compose.badLanguage"));
      if (localTitle) setOwn(content, `title-${locale}`, localTitle);
      setOwn(content, `alert-${locale}`, localText);
    }
    if (Object.keys(content).length === 0) throw new Error(t("compose.noText"));
    const body = { data: content };
    if (when.value !== "now") {
      const typed = time.value.trim().replace(" ", "T");
      const at = new Date(typed + ":00.000Z");
      if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(typed) || Number.isNaN(at.getTime())) throw new Error(t("compose.badTime"));
      if (when.value === "at" && at < new Date()) throw new Error(t("compose.past"));
      body.push_time = typed + (when.value === "at" ? ":00.000Z" : ":00.000");
    }
    if (hours.value.trim()) {
      const length = Number(hours.value);
      if (!(length >= 1 && length < 100_000)) throw new Error(t("compose.badHours"));
      body.expiration_interval = Math.round(length * 3600);
    }
    return body;
  }
  const spoken = () => plain(text.value.trim() || title.value.trim() || t("push.noText"), 80);
  async function send() {
    const body = read();
    const n = await measure();
    const later = body.push_time ? t("compose.later", { time: time.value.trim() }) : t("compose.now");
    const isSure = await confirm({ title: t(body.push_time ? "compose.plan" : "compose.send", { n: count(n) }), text: t("compose.sure", { text: spoken(), n, when: later }), button: t(body.push_time ? "compose.plan" : "compose.send", { n: count(n) }),
      typed: n > MANY ? String(n) : undefined, typedLabel: n > MANY ? t("compose.typed", { n: String(n) }) : undefined });
    if (!isSure) return;
    await parse.post("push", { ...body, where: page.where });
    record(t(body.push_time ? "compose.planned" : "compose.sent"));
    sent();
  }
  /** Lets the server process the push without sending it. */
  async function dryRun() {
    const { push_time: _, ...body } = read();
    const { headers } = await parse.post("push", { ...body, where: page.where, dry_run: true }, { signal: scope });
    const id = headers.get("X-Parse-Push-Status-Id");
    sent();
    const host = h("div", { role: "status" }, t("compose.waiting"));
    openDialog({ title: t("compose.trialTitle"), kind: "sheet" }, () => ({ body: host }));
    await followTrial(id, host).catch((refusal) => put(host, h("p.problem", plain(refusal.message, 300))));
  }
  async function followTrial(id, host) {
    for (let round = 0; round < 60; round += 1) {
      const { body: row } = await parse.get(`classes/_PushStatus/${encodeURIComponent(id)}`, {}, { signal: scope });
      if (["succeeded", "failed"].includes(row.status)) {
        if (row.status === "failed") put(host, h("p.bad", shown(row.errorMessage?.error ?? JSON.stringify(row.errorMessage ?? ""), 500)));
        else put(host, reportView((await parse.get(`push/${encodeURIComponent(id)}/report`, {}, { signal: scope }).catch(() => ({ body: {} }))).body));
        sent();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    put(host, t("compose.slow"));
  }
  async function toOne() {
    const { push_time: _, ...body } = read();
    const id = textField({ autofocus: true, maxlength: "64" });
    const isSent = await openForm({ title: t("compose.first"), button: t("word.send") }, () => ({
      body: labelled(t("compose.device"), id),
      async save() {
        const where = { $or: [{ objectId: id.value.trim() }, { installationId: id.value.trim() }] };
        const { body: found } = await parse.get("classes/_Installation", { where, limit: 1, keys: "deviceType" }, { signal: scope });
        if (found.results.length === 0) throw new Error(t("compose.noDevice", { id: id.value.trim() }));
        await parse.post("push", { ...body, where: { objectId: found.results[0].objectId } });
        return true;
      },
    }));
    if (isSent) {
      record(t("compose.sent"));
      sent();
    }
  }
  /** Counts the devices of the audience. */
  async function measure() {
    const where = Object.keys(page.where).length ? { $and: [page.where, { deviceToken: { $exists: true } }] } : { deviceToken: { $exists: true } };
    const { body } = await parse.get("classes/_Installation", { where, count: 1, limit: 0 }, { signal: page.scope });
    devices = body.count;
    draw();
    return devices;
  }
  async function audience() {
    const inner = page.scope = next();
    devices = undefined;
    draw();
    put(chips);
    const { addCondition, drawChips } = await import("../../data/filter/chips.js");
    if (inner.aborted) return;
    const shownPage = { ...page, change({ where }) { page.where = where; audience(); }, addCondition: (field, anchor) => addCondition(shownPage, anchor, field) };
    drawChips(shownPage, chips);
    try {
      await measure();
    } catch (refusal) {
      if (!inner.aborted) put(problem, plain(refusal.message, 300));
    }
  }
  function draw() {
    time.parentElement.hidden = when.value === "now";
    put(number, devices === undefined ? t("compose.counting") : t("compose.devices", { n: devices }));
    put(go, icon("push"), t(when.value === "now" ? "compose.send" : "compose.plan", { n: devices === undefined ? "\u2026" : count(devices) }));
    go.disabled = !devices;
    let size;
    try {
      size = new TextEncoder().encode(JSON.stringify(read().data)).length;
    } catch {
      size = 0;
    }
    put(preview, h("span.label", t("compose.preview")), h("b", title.value.trim() ? shown(title.value.trim(), 100) : ""), h("div.wrap", shown(text.value.trim() || "\u2026", 300)), size > 0 && h("span", { class: size > 3500 ? "warn" : "quiet" }, bytes(size)));
  }
  const element = h("section.panel.two-even", h(".stack", labelled(t("compose.title"), title), labelled(t("word.text"), text), preview,
    h("details", h("summary", t("compose.more")), labelled(t("compose.badge"), badge), labelled(t("compose.languages"), languages), labelled(t("compose.data"), data))),
  h(".stack", h(".line", h("span.label", t("compose.to")), number), chips, labelled(t("word.when"), when), labelled(t("compose.time"), time), labelled(t("compose.expires"), hours), problem, h(".line.wrap", go, trial, first)));
  for (const field of [title, text, data, languages]) field.addEventListener("input", debounce(100, draw));
  draw();
  watch.measure = () => measure().catch(() => {});
  addEventListener("focus", watch.measure, { signal: scope });
  (async () => {
    if (!classes.peek()) await loadClasses();
    if (!scope.aborted) await audience();
  })();
  return element;
}

function object(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (problem) {
    throw new Error(t("compose.badData", { problem: problem.message }));
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(t("compose.badData", { problem: "{ }" }));
  return value;
}

addWords({
  "report.deviceTypes": "Devices", "report.locales": "Languages", "report.badges": "Badges", "report.entries": "Sent by",
  "report.problems": "Problems", "report.size": "The largest message has {size}.", "report.nobody": "Nobody would get it.",
  "report.reached": "No device is known to be unreachable.",
  "report.none": "This push was not a dry run.", "report.device": "Device", "report.type": "Type", "report.reason": "Reason",
});

function reportView(report) {
  const parts = ["deviceTypes", "locales", "badges", "entries", "problems"].map((key) => [key, Object.entries(report[key] ?? {})]).filter(([, kinds]) => kinds.length > 0);
  if (parts.length === 0) return h("p", t("report.nobody"));
  return h(".stack", parts.map(([key, kinds]) => table(t("report." + key), [[t("report." + key)], ["", ".right"]], kinds.map(([kind, number]) => [key === "problems" ? h("span.bad", shown(kind, 200)) : shown(kind, 200), count(number)]))), h("p.quiet", t("report.size", { size: bytes(report.payloadBytes ?? 0) })));
}

/** Opens the "report" or "failures" of a push. */
export function openReport(row, what) {
  const host = h("div", loading(3));
  const read = async () => {
    try {
      const { body } = await parse.get(`push/${encodeURIComponent(row.objectId)}/${what}`);
      const list = body.results ?? body;
      if (what === "report") put(host, reportView(body));
      else put(host, !Array.isArray(list) || list.length === 0 ? h("p", t("report.reached")) : table(t("word.failed"), ["device", "type", "reason"].map((name) => [t("report." + name)]),
        list.slice(0, 500).map((one) => [shown(one.installationId ?? one.objectId ?? "", 60), shown(one.deviceType ?? "", 30), h("span.bad", shown(one.reason ?? one.error ?? "", 200))])));
    } catch (problem) {
      put(host, problem.code === 101 && what === "report" ? h("p", t("report.none")) : failed(problem, read));
    }
  };
  read();
  openDialog({ title: t(what === "report" ? "push.report" : "push.failures"), kind: "sheet" }, () => ({ body: host }));
}
