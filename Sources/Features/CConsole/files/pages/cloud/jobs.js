/** Jobs, their runs, and their schedules as sentences and forms. */

import { parse, pause } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, linked, option, put, textField } from "../../core/dom.js";
import { addWords, ago, count, cut, date, plain, said, shown, t } from "../../core/words.js";
import { confirm, keepFocus, openForm, openMenu } from "../../parts/dialog.js";
import { complain, failed, record } from "../../parts/states.js";
import { isEqual } from "../../data/values.js";
import { beginning, FIGURES, figures, read, table } from "./index.js";

addWords({
  "job.startOf": "Start {name}", "job.started": "{name} started", "job.none": "No jobs yet", "job.once": "once at a time", "job.runs": "Runs",
  "job.noRuns": "Start a job to see its runs.", "job.state.running": "running", "job.state.succeeded": "succeeded", "job.state.failed": "failed", "job.message": "Message", "job.began": "Started",
  "job.took": "Duration", "job.by.api": "a call", "job.by.schedule": "a schedule", "job.plans": "Schedules", "job.noPlans": "No schedules yet.", "job.plan": "New schedule", "job.last": "Last run",
  "job.never": "never", "job.job": "Job", "job.actions": "Actions of the schedule of {name}", "job.planned": "{name} runs {when}", "job.unplanned": "Schedule of {name} deleted",
  "job.back": "Schedule of {name} restored", "job.since": "The schedule has changed since and was kept.", "job.unplanText": "{name} no longer runs {when}.",
  "job.off": "This server runs no schedules: the option jobSchedules is off.", "plan.once": "once, at {time} UTC", "plan.soon": "once, as soon as possible", "plan.every": "every {what}",
  "plan.minutes": "{n} {n|minute|minutes}", "plan.hours": "{n} {n|hour|hours}", "plan.days": "{n} {n|day|days}", "plan.at": ", from {time} UTC on", "plan.on": ", on {days}",
  "plan.from": ", not before {time} UTC", "plan.kind.daily": "each day at a time", "plan.kind.every": "repeatedly", "plan.kind.once": "once", "plan.time": "Time (UTC)",
  "plan.gap": "Interval in minutes", "plan.start": "Date and time (UTC)", "plan.weekdays": "Weekdays", "plan.badTime": "Write times like 03:00.",
  "plan.badGap": "The interval must be a whole number of minutes, 1 or more.", "plan.badDate": "Write dates like 2026-12-24 18:00.", "plan.noDay": "Choose at least one day.",
});

const PAUSE = 1000;

/** Shows jobs in a part of the page until `scope` ends. */
export function openJobs(host, { jobs = [], runsSchedules, hosts }, scope) {
  const runs = h("section.panel");
  const plans = h("section.panel");
  const watch = { isOn: false };
  const again = () => readRuns(runs, watch, scope);
  put(host, h("section.panel", h("h2", t("cloud.jobs")), jobs.length === 0 ? [h("p", t("job.none")), h("p.quiet", linked(t("cloud.emptyHint"))), beginning({ hosts })]
    : table(t("cloud.jobs"), [["", "word.name"], ...FIGURES, [".actions.start", ""]], jobs.map((job) => [["", [shown(job.name, 80), job.isExclusive && h("span.quiet", " \u00b7 ", t("job.once"))]], ...figures(job),
      [".actions.start", h("button.button", { "aria-label": t("job.startOf", { name: job.name }), onclick: () => start(job.name, again) }, t("rail.start"))]]))), plans, runs);
  again();
  readPlans(plans, jobs, runsSchedules, scope);
}

async function start(name, again) {
  const params = h("textarea", { rows: "5", spellcheck: "false", value: "{}" });
  const isStarted = await openForm({ title: t("job.startOf", { name }), button: t("rail.start") }, () => ({
    body: labelled(t("word.params"), params),
    async save() {
      await parse.post("jobs/" + encodeURIComponent(name), read(params.value));
      return true;
    },
  }));
  if (!isStarted) return;
  record(t("job.started", { name }));
  again();
}

const time = (iso) => (iso ? h("time", { title: date(iso, true) }, ago(iso)) : "");
const isoOf = (value) => (typeof value === "string" ? value : value?.iso);

/** Reads the latest runs, repeatedly while one of them is active. */
async function readRuns(host, watch, scope) {
  const again = () => readRuns(host, watch, scope);
  let rows;
  try {
    rows = (await parse.get("classes/_JobStatus", { order: "-createdAt", limit: 30 }, { signal: scope })).body.results;
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  const states = ["running", "succeeded", "failed"];
  keepFocus(host, () => put(host, h("h2", t("job.runs")), rows.length === 0 ? h("p.quiet", t("job.noRuns"))
    : table(t("job.runs"), [["", "word.name"], ["", "word.state"], ["", "job.message"], ["", "job.began"], [".wide", "job.took"], [".wide", "word.by"]], rows.map((row) => [
      ["", shown(row.jobName ?? "", 80)], ["", h("span", { class: row.status === "failed" ? "bad" : "" }, states.includes(row.status) ? t("job.state." + row.status) : shown(row.status ?? "", 30))],
      ["", row.message === undefined || row.message === null ? "" : shown(typeof row.message === "string" ? row.message : JSON.stringify(row.message), 300)], ["", time(row.createdAt)],
      [".wide", isoOf(row.finishedAt) ? took(row.createdAt, isoOf(row.finishedAt)) : ""], [".wide.quiet", ["api", "schedule"].includes(row.source) ? t("job.by." + row.source) : shown(row.source ?? "", 30)],
    ]))));
  if (watch.isOn || !rows.some(({ status }) => status === "running")) return;
  watch.isOn = true;
  await pause(scope, PAUSE);
  watch.isOn = false;
  if (!scope.aborted) await again();
}

function given(params) {
  try {
    return typeof params === "string" ? JSON.parse(params || "{}") : params ?? {};
  } catch {
    return {};
  }
}

async function readPlans(host, jobs, isOn, scope) {
  const again = () => readPlans(host, jobs, isOn, scope);
  let rows;
  try {
    rows = (await parse.get("classes/_JobSchedule", { order: "jobName", limit: 200 }, { signal: scope })).body.results;
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  const add = jobs.length > 0 && button(".button", () => edit({}, jobs, again), icon("plus"), t("job.plan"));
  keepFocus(host, () => put(host, h("h2", t("job.plans")), !isOn && h("p.notice", t("job.off")), rows.length === 0 ? h("p.quiet", t("job.noPlans"))
    : table(t("job.plans"), [["", "job.job"], ["", "word.when"], [".wide", "word.params"], [".wide", "job.last"], [".actions", ""]], rows.map((row) => [
      ["", shown(row.jobName ?? "", 80)], ["", planInWords(row)], [".wide.mono", shown(cut(JSON.stringify(given(row.params)), 200), 200)],
      [".wide", typeof row.lastRun === "number" ? time(new Date(row.lastRun).toISOString()) : h("span.quiet", t("job.never"))],
      [".actions", iconButton("more", t("job.actions", { name: cut(String(row.jobName), 60) }), (event) => openMenu(event.currentTarget, [
        { words: t("word.change"), icon: "config", do: () => edit(row, jobs, again) },
        { words: t("delete"), icon: "trash", isDanger: true, do: () => remove(row, again) },
      ]))]])), add));
}

/** Returns the schedule in a row; `missing` replaces missing members. */
const planOf = (row, missing) => Object.fromEntries(["jobName", "params", "repeatMinutes", "timeOfDay", "daysOfWeek", "startAfter"].map((key) => [key, row[key] ?? missing]));

async function edit(row, jobs, again) {
  const name = h("select", [...new Set([...jobs.map((job) => job.name), row.jobName].filter(Boolean))].map((other) => option(other, plain(other, 80), other === row.jobName)));
  const params = h("textarea", { rows: "4", spellcheck: "false", value: JSON.stringify(given(row.params), null, 2) });
  const form = planForm(row);
  await openForm({ title: row.objectId ? t("job.plans") : t("job.plan"), button: t("save") }, () => ({
    body: [labelled(t("job.job"), name), form.element, labelled(t("word.params"), params)],
    async save() {
      const plan = { jobName: name.value, params: JSON.stringify(read(params.value)), ...form.read() };
      // Removes members of the previous kind of schedule.
      for (const key of ["timeOfDay", "daysOfWeek"]) if (row[key] !== undefined && plan[key] === undefined) plan[key] = { __op: "Delete" };
      const words = t("job.planned", { name: plan.jobName, when: planInWords(plan) });
      if (row.objectId) {
        const store = (next) => parse.put("cloud_code/jobs/" + encodeURIComponent(row.objectId), { job_schedule: next });
        const stored = async () => planOf((await parse.get("classes/_JobSchedule/" + encodeURIComponent(row.objectId))).body);
        await store({ startAfter: row.startAfter, ...plan });
        const mine = await stored();
        record(words, async () => {
          if (!isEqual(await stored(), mine)) throw new Error(t("job.since"));
          await store(planOf(row, { __op: "Delete" }));
          again();
          return t("job.back", { name: plan.jobName });
        });
      } else {
        await parse.post("cloud_code/jobs", { job_schedule: plan });
        record(words);
      }
      again();
      return true;
    },
  }));
}

async function remove(row, again) {
  const name = cut(String(row.jobName), 60);
  if (!(await confirm({ title: t("job.plans"), text: t("job.unplanText", { name, when: planInWords(row) }), button: t("delete"), isDanger: true }))) return;
  try {
    await parse.delete("cloud_code/jobs/" + encodeURIComponent(row.objectId));
    record(t("job.unplanned", { name }), async () => {
      await parse.post("cloud_code/jobs", { job_schedule: planOf(row) });
      again();
      return t("job.back", { name });
    });
  } catch (problem) {
    complain(problem);
  }
  again();
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const isOn = (day) => day === 1 || day === true || day === "1";
const short = (iso) => plain(String(iso).slice(0, 16).replace("T", " "), 20);

function planInWords({ repeatMinutes, timeOfDay, daysOfWeek, startAfter }) {
  const gap = Number(repeatMinutes) || 0;
  if (gap <= 0) return startAfter ? t("plan.once", { time: short(startAfter) }) : t("plan.soon");
  const [unit, n] = gap % 1440 === 0 ? ["days", gap / 1440] : gap % 60 === 0 ? ["hours", gap / 60] : ["minutes", gap];
  const what = n === 1 ? t("plan." + unit, { n }).replace("1 ", "") : t("plan." + unit, { n });
  const days = Array.isArray(daysOfWeek) && daysOfWeek.length === 7 && !daysOfWeek.every(isOn) ? DAYS.filter((_, index) => isOn(daysOfWeek[index])) : [];
  return t("plan.every", { what: said(what) }) + (timeOfDay ? t("plan.at", { time: String(timeOfDay).slice(0, 5) }) : "") + (days.length ? t("plan.on", { days: days.join(", ") }) : "")
    + (startAfter && new Date(startAfter) > new Date() ? t("plan.from", { time: short(startAfter) }) : "");
}

/** Creates the fields of a schedule: `{ element, read() }`. */
function planForm(plan = {}) {
  const gap = Number(plan.repeatMinutes) || 0;
  const start = !plan.objectId ? "daily" : gap <= 0 ? "once" : gap % 1440 === 0 ? "daily" : "every";
  const kind = h("select", { onchange: () => draw() }, ["daily", "every", "once"].map((value) => option(value, t("plan.kind." + value), value === start)));
  const time = textField({ value: String(plan.timeOfDay ?? "03:00").slice(0, 5), maxlength: "5" });
  const minutes = textField({ value: gap > 0 ? String(gap) : "60", inputmode: "numeric" });
  const at = textField({ value: plan.startAfter ? short(plan.startAfter) : start === "once" ? "" : short(new Date(Date.now() + 3_600_000).toISOString()) });
  const days = DAYS.map((name, index) => h("input", { type: "checkbox", "aria-label": name, checked: !Array.isArray(plan.daysOfWeek) || isOn(plan.daysOfWeek[index]) }));
  const fields = h(".stack");
  const weekdays = h("fieldset.days", { "aria-label": t("plan.weekdays") }, days.map((box, index) => h("label.line", box, DAYS[index])));
  const draw = () => put(fields, kind.value === "daily" ? [labelled(t("plan.time"), time), weekdays] : kind.value === "every" ? labelled(t("plan.gap"), minutes) : labelled(t("plan.start"), at));
  draw();
  return {
    element: [labelled(t("word.when"), kind), fields],
    read() {
      if (kind.value === "once") {
        // Without a time, the job was to run as soon as possible. It already has, so the schedule gets no new time.
        if (start === "once" && !plan.startAfter && !at.value.trim()) return { repeatMinutes: 0, startAfter: "" };
        const date = new Date(`${at.value.trim().replace(" ", "T")}:00.000Z`);
        if (!/^\d{4}-\d\d-\d\d[ T]\d\d:\d\d$/.test(at.value.trim()) || Number.isNaN(date.getTime())) throw new Error(t("plan.badDate"));
        return { repeatMinutes: 0, startAfter: date.toISOString() };
      }
      if (kind.value === "every") {
        if (!/^[1-9]\d{0,6}$/.test(minutes.value.trim())) throw new Error(t("plan.badGap"));
        return { repeatMinutes: Number(minutes.value) };
      }
      if (!/^([01]\d|2[0-3]):[0-5]\d$/.test(time.value.trim())) throw new Error(t("plan.badTime"));
      if (!days.some(({ checked }) => checked)) throw new Error(t("plan.noDay"));
      return { repeatMinutes: gap > 0 && gap % 1440 === 0 ? gap : 1440, timeOfDay: `${time.value.trim()}:00.000Z`, daysOfWeek: days.map(({ checked }) => (checked ? "1" : "0")) };
    },
  };
}

function took(from, to) {
  const seconds = Math.max(0, (new Date(to) - new Date(from)) / 1000);
  return seconds < 60 ? `${count(Math.round(seconds * 10) / 10)} s` : t("plan.minutes", { n: Math.round(seconds / 60) });
}
