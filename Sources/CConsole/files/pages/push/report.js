/** What became of a push, or would: what a trial counted, and the devices that were not reached. */

import { parse } from "../../core/api.js";
import { h, put } from "../../core/dom.js";
import { addWords, bytes, count, shown, t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";
import { failed, loading } from "../../parts/states.js";

addWords({
  "report.deviceTypes": "Devices",
  "report.locales": "Languages",
  "report.badges": "Badges",
  "report.entries": "Sent by",
  "report.problems": "Problems",
  "report.size": "The largest message has {size}.",
  "report.nobody": "Nobody would get it.",
  "report.reached": "There is no device that is known not to be reached. Failures are kept for a day.",
  "report.none": "This push was no trial: nothing was counted beforehand.",
  "report.device": "Device",
  "report.type": "Type",
  "report.reason": "Reason",
});

/** A report as an element. */
export function reportView(report) {
  const parts = ["deviceTypes", "locales", "badges", "entries", "problems"].map((key) => [key, Object.entries(report[key] ?? {})]).filter(([, kinds]) => kinds.length > 0);
  if (parts.length === 0) return h("p", t("report.nobody"));
  return h(".stack", parts.map(([key, kinds]) => h("table.list", h("thead", h("tr", h("th", { scope: "col" }, t("report." + key)), h("th.right"))),
    h("tbody", kinds.map(([kind, number]) => h("tr", h("th", { scope: "row", class: key === "problems" ? "bad" : "" }, shown(kind, 200)), h("td.right", count(number))))))), h("p.quiet", t("report.size", { size: bytes(report.payloadBytes ?? 0) })));
}

/** Opens what is known of a push: "report" or "failures". */
export function openReport(row, what) {
  const host = h("div", loading(3));
  const read = async () => {
    try {
      const { body } = await parse.get(`push/${encodeURIComponent(row.objectId)}/${what}`);
      const list = body.results ?? body;
      if (what === "report") put(host, reportView(body));
      else put(host, !Array.isArray(list) || list.length === 0 ? h("p", t("report.reached")) : h("table.list", h("thead", h("tr", ["device", "type", "reason"].map((name) => h("th", { scope: "col" }, t("report." + name))))),
        h("tbody", list.slice(0, 500).map((one) => h("tr", h("th", { scope: "row" }, shown(one.installationId ?? one.objectId ?? "", 60)), h("td", shown(one.deviceType ?? "", 30)), h("td.bad", shown(one.reason ?? one.error ?? "", 200)))))));
    } catch (problem) {
      put(host, problem.code === 101 && what === "report" ? h("p", t("report.none")) : failed(problem, read));
    }
  };
  read();
  openDialog({ title: t(what === "report" ? "push.report" : "push.failures"), kind: "sheet" }, () => ({ body: host }));
}
