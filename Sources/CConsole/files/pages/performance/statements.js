/** Statements that take long, with their plans, and the indexes that would help, which are built from here. */

import { send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { addWords, bytes, plain, shown, t } from "../../core/words.js";
import { build, mayBuild } from "../../data/indexing.js";
import { counts, loadCounts } from "../../data/schema.js";
import { time } from "../../parts/chart.js";
import { openDialog } from "../../parts/dialog.js";
import { complain, failed, loading } from "../../parts/states.js";
import { planTree } from "./plan.js";

addWords({
  "statements.advice": "Indexes that would help",
  "statements.title": "Slow statements",
  "statements.ofDatabase": "As PostgreSQL has counted them, of all processes.",
  "statements.ofProcess": "As this process has noted them since it began, from {ms} on. With pg_stat_statements in shared_preload_libraries and CREATE EXTENSION pg_stat_statements, PostgreSQL counts for all processes.",
  "statements.none": "No statement took long.",
  "statements.noAdvice": "No index is missing for what was asked so far.",
  "statements.off": "Nothing is noted: the option indexAdvice is off.",
  "statements.createOf": "Create index on {class}: {fields}",
  "statements.before": "{words}: now {before} on average; with the index about {after}.",
  "statements.copy": "No index that a class can declare does this. An administrator of the database runs:",
  "statements.readers": "It is not built here: it holds who may read each object, and one that more than about 150 users and roles may read could then not be stored. Where there is none such, an administrator of the database runs:",
  "statements.built": "Index {index} is built.",
  "statements.measured": "A question as above took {before} before, and {after} now.",
  "statements.calls": "{n} {n|time|times}, {mean} on average, {longest} at most",
  "statements.plan": "Plan",
  "statements.planOf": "Plan of a statement",
  "statements.adviseThis": "An index would help",
  "statements.stopped": "Stopped by the time limit, and no index of their fields helps",
  "statements.unused": "Indexes that nothing used for a month",
  "statements.unusedRow": "{name} of {class}, {bytes}, for {days} days",
});

/** The panels of statements and of advice. */
export function statements(scope) {
  const host = h(".panels", loading(3));
  const read = async () => {
    try {
      const { body } = await send("GET", "statements", { signal: scope });
      if (!counts.peek().size) loadCounts();
      put(host, advicePanel(body, read), statementPanel(body));
    } catch (problem) {
      if (!scope.aborted) put(host, failed(problem, read));
    }
  };
  read();
  return host;
}

function advicePanel({ advice, isAdvising, stopped, unused }, read) {
  return h(".panel", h("h2", t("statements.advice")),
    advice.length === 0 && h("p.quiet", t(isAdvising ? "statements.noAdvice" : "statements.off")),
    advice.map((one) => adviceRow(one, read)),
    stopped.length > 0 && [h("h3.label", t("statements.stopped")), stopped.map((words) => h("p.quiet", shown(words, 300)))],
    unused.length > 0 && [h("h3.label", t("statements.unused")), unused.map((index) => h("p.quiet",
      t("statements.unusedRow", { name: plain(index.name, 80), class: plain(index.className, 60), bytes: bytes(index.bytes), days: index.days })))]);
}

function adviceRow(advice, read) {
  const names = advice.columns.map((name) => plain(name, 60)).join(", ");
  const row = h(".line.member.wrap", h(".grow", shown(advice.why, 400)));
  const create = async () => {
    if (!(await mayBuild(advice.className, advice.fields, gain(advice)))) return;
    const { element, finished } = build(advice.className, advice.fields, { advice: advice.name });
    go.remove();
    row.append(element);
    try {
      const built = await finished;
      if (!built) {
        element.replaceWith(go);
        return;
      }
      const { name, before, after } = built;
      const words = [t("statements.built", { index: name }), before !== undefined && after !== undefined && t("statements.measured", { before: time(before), after: time(after) })].filter(Boolean).join(" ");
      element.replaceWith(h("p.notice.built", { role: "status" }, icon("check"), " ", words));
    } catch (problem) {
      element.replaceWith(go);
      complain(problem);
    }
  };
  const go = button(".button", create, icon("plus"), t("index.build"));
  go.setAttribute("aria-label", t("statements.createOf", { class: advice.className, fields: names }));
  if (advice.fields) row.append(go);
  else row.append(h("div", h("p.quiet", t(advice.holdsReaders ? "statements.readers" : "statements.copy")), h("code.wrap", shown(advice.statement, 500))));
  return row;
}

/** What is known of a question without and with an index; undefined where that is not known. */
function gain({ questions }) {
  const [first] = questions;
  return first?.afterMs === undefined ? undefined : t("statements.before", { words: first.words, before: time(first.meanMs), after: time(first.afterMs) });
}

function statementPanel({ rows, source, slowMs }) {
  return h(".panel", h("h2", t("statements.title")), h("p.quiet", source === "database" ? t("statements.ofDatabase") : t("statements.ofProcess", { ms: time(slowMs) })),
    rows.length === 0 && h("p", t("statements.none")),
    rows.map((row) => h(".line.member", h(".grow", h("div", h("code", shown(row.text || row.className || "", 300))),
      h(".quiet", row.className && [h("bdi", plain(row.className, 60)), " \u00b7 "], t("statements.calls", { n: row.calls, mean: time(row.mean), longest: time(row.longest) }),
        row.advice && [" \u00b7 ", t("statements.adviseThis")])),
    row.text && button(".button", () => showPlan(row), icon("schema"), t("statements.plan")))));
}

function showPlan({ id, text }) {
  openDialog({ title: t("statements.planOf"), kind: "sheet" }, () => {
    const host = h(".form", loading(3));
    readPlan(host, id);
    return { body: [h("pre.mono.statement", shown(text, 4000)), host] };
  });
}

async function readPlan(host, id) {
  try {
    const { body } = await send("GET", "statements/" + encodeURIComponent(id));
    put(host, body.planError === undefined ? planTree(body.plan) : h("p.problem", plain(body.planError, 500)));
  } catch (problem) {
    put(host, failed(problem, () => readPlan(host, id)));
  }
}
