/** Schedules of jobs as sentences and forms. */

import { h, labelled, option, put, textField } from "../../core/dom.js";
import { addWords, count, plain, said, t } from "../../core/words.js";

addWords({
  "plan.once": "once, at {time} UTC", "plan.soon": "once, as soon as possible", "plan.every": "every {what}", "plan.minutes": "{n} {n|minute|minutes}",
  "plan.hours": "{n} {n|hour|hours}", "plan.days": "{n} {n|day|days}", "plan.at": ", from {time} UTC on", "plan.on": ", on {days}",
  "plan.from": ", not before {time} UTC", "plan.kind": "When", "plan.kind.daily": "each day at a time", "plan.kind.every": "repeatedly", "plan.kind.once": "once",
  "plan.time": "Time (UTC)", "plan.gap": "Interval in minutes", "plan.start": "Date and time (UTC)", "plan.weekdays": "Weekdays",
  "plan.badTime": "Write times like 03:00.", "plan.badGap": "The interval must be a whole number of minutes, 1 or more.",
  "plan.badDate": "Write dates like 2026-12-24 18:00.", "plan.noDay": "Choose at least one day.",
});

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const isOn = (day) => day === 1 || day === true || day === "1";
const short = (iso) => plain(String(iso).slice(0, 16).replace("T", " "), 20);

/** Describes a schedule. */
export function planInWords({ repeatMinutes, timeOfDay, daysOfWeek, startAfter }) {
  const gap = Number(repeatMinutes) || 0;
  if (gap <= 0) return startAfter ? t("plan.once", { time: short(startAfter) }) : t("plan.soon");
  const [unit, n] = gap % 1440 === 0 ? ["days", gap / 1440] : gap % 60 === 0 ? ["hours", gap / 60] : ["minutes", gap];
  const what = n === 1 ? t("plan." + unit, { n }).replace("1 ", "") : t("plan." + unit, { n });
  const days = Array.isArray(daysOfWeek) && daysOfWeek.length === 7 && !daysOfWeek.every(isOn) ? DAYS.filter((_, index) => isOn(daysOfWeek[index])) : [];
  return t("plan.every", { what: said(what) }) + (timeOfDay ? t("plan.at", { time: String(timeOfDay).slice(0, 5) }) : "") + (days.length ? t("plan.on", { days: days.join(", ") }) : "")
    + (startAfter && new Date(startAfter) > new Date() ? t("plan.from", { time: short(startAfter) }) : "");
}

/** Creates the fields of a schedule: `{ element, read() }`. */
export function planForm(plan = {}) {
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
    element: [labelled(t("plan.kind"), kind), fields],
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

/** Describes a duration. */
export function took(from, to) {
  const seconds = Math.max(0, (new Date(to) - new Date(from)) / 1000);
  return seconds < 60 ? `${count(Math.round(seconds * 10) / 10)} s` : t("plan.minutes", { n: Math.round(seconds / 60) });
}
