/** Performance: charts, the cost of requests by route, slow statements, and index advice. */

import { isWatched, send } from "../../core/api.js";
import { button, h, icon, option, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { mayChangeClasses, setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, bytes, count, date, drawnApart, plain, shown, t } from "../../core/words.js";
import { build, mayBuild } from "../../data/indexing.js";
import { counts, loadCounts } from "../../data/schema.js";
import { chart, time } from "../../parts/chart.js";
import { keepFocus, openDialog } from "../../parts/dialog.js";
import { complain, failed, loading, reading, table } from "../../parts/states.js";
import { linesLater } from "../settings/index.js";

addWords({
  "performance.hint": "Server process {process}", "performance.span": "Time range", "performance.hour": "Last hour", "performance.day": "Last day", "performance.time": "Response time",
  "performance.errors": "Errors", "performance.client": "rejected a second (4xx)", "performance.server": "failed a second (5xx)", "performance.connections": "Connections", "performance.clients": "clients",
  "performance.live": "live queries", "performance.database": "Database connections", "performance.active": "active", "performance.waiting": "waiting", "performance.memory": "Memory",
  "performance.process": "this process", "performance.calls": "Database calls", "performance.callTime": "Call time", "performance.callErrors": "Database errors",
  "performance.notCounted": "Requests are not counted here without the option metrics. The charts show database calls instead.", "performance.routes": "Routes", "performance.since": "Since {when}",
  "performance.route": "Route", "performance.call": "Call", "performance.count": "Count", "performance.mean": "Mean", "performance.fault": "{client} by clients, {server} by the server",
  "performance.other": "other paths", "performance.none": "No requests yet.", "performance.under": "under {ms}", "performance.over": "over {ms}",
});

const PAUSE = 10_000;

/** The range in milliseconds within which the server's buckets distinguish request times. */
const REQUESTS = { least: 5, most: 10_000 };
const CALLS = { least: 1, most: 10_000 };

const bounded = ({ least, most }) => (value) => (value <= least ? t("performance.under", { ms: time(least) }) : value >= most ? t("performance.over", { ms: time(most) }) : time(value));
const rate = (value) => String(Number(value.toPrecision(3)));

function charts(countsRequests) {
  const of = countsRequests ? REQUESTS : CALLS;
  const first = countsRequests ? [
    { title: t("word.requests"), series: ["requests"], words: [t("word.perSecond")], format: rate },
    { title: t("performance.time"), series: ["p50", "p99"], words: [t("word.p50"), t("word.p99")], format: bounded(of) },
    { title: t("performance.errors"), series: ["serverErrors", "clientErrors"], words: [t("performance.server"), t("performance.client")], format: rate },
  ] : [
    { title: t("performance.calls"), series: ["calls"], words: [t("word.perSecond")], format: rate },
    { title: t("performance.callTime"), series: ["callP50", "callP99"], words: [t("word.p50"), t("word.p99")], format: bounded(of) },
    { title: t("performance.callErrors"), series: ["callErrors"], words: [t("word.perSecond")], format: rate },
  ];
  return [...first,
    { title: t("performance.connections"), series: ["connections", "live"], words: [t("performance.clients"), t("performance.live")], format: count },
    { title: t("performance.database"), series: ["databaseActive", "databaseWaiting"], words: [t("performance.active"), t("performance.waiting")], format: count },
    { title: t("performance.memory"), series: ["memory"], words: [t("performance.process")], format: bytes },
  ].map((one) => ({ ...one, ...chart(one) }));
}

export function open(scope) {
  const hint = h("span.quiet.words");
  const body = h(".scroll.performance", loading());
  const span = h("select", { "aria-label": t("performance.span"), onchange: () => go(address("performance", [], { for: span.value === "day" ? "day" : undefined })) });
  setTitle(t("rail.performance"));
  const next = latest(scope);
  let again = () => {};
  addKeys(t("rail.performance"), { "Alt+r": { words: t("grid.refresh"), do: () => again() } }, scope);
  effect(() => {
    const { page, query } = route();
    if (page !== "performance") return;
    const isDay = query.get("for") === "day";
    put(span, option("hour", t("performance.hour"), !isDay), option("day", t("performance.day"), isDay));
    again = follow(body, hint, isDay, next());
  }, scope);
  return h(".page", h("header.head", h("h1", t("rail.performance")), hint, h(".space"), span), body);
}

function follow(body, hint, isDay, scope) {
  let drawn;
  let timer;
  const read = async () => {
    clearTimeout(timer);
    try {
      // No requests while nobody is watching.
      if (isWatched() || !drawn) {
        const { body: figures } = await send("GET", "metrics", { query: isDay ? { step: 60, for: 86400 } : { step: 10, for: 3600 }, signal: scope });
        if (scope.aborted) return;
        drawn ??= draw(body, figures, scope);
        put(hint, t("performance.hint", { process: String(figures.process) }));
        drawn(figures);
      }
    } catch (problem) {
      if (scope.aborted) return;
      drawn = undefined;
      put(body, failed(problem, read));
      return;
    }
    timer = setTimeout(read, PAUSE);
  };
  scope.addEventListener("abort", () => clearTimeout(timer));
  read();
  return read;
}

function draw(body, { countsRequests }, scope) {
  const all = charts(countsRequests);
  const routes = h(".panel");
  const calls = h(".panel");
  put(body, !countsRequests && h(".notice.form", t("performance.notCounted"), linesLater("metrics")), h(".charts", all.map(({ element }) => element)),
    mayChangeClasses() && statements(scope), countsRequests && routes, calls);
  return (figures) => {
    const at = figures.at;
    for (const { series, update } of all) update(at, series.map((name) => figures.series[name]));
    keepFocus(routes, () => put(routes, h("h2", t("performance.routes")), figureTable(figures.routes, figures.since, REQUESTS, t("performance.route"))));
    keepFocus(calls, () => put(calls, h("h2", t("performance.calls")), figureTable(figures.calls, figures.since, CALLS, t("performance.call"))));
  };
}

function figureTable(rows, since, bounds, name) {
  if (rows.length === 0) return h("p.quiet", t("performance.none"));
  const format = bounded(bounds);
  return [h("p.quiet", t("performance.since", { when: date(since) })), table(name,
    [[name], [t("performance.count"), ".right"], [t("performance.mean"), ".right.wide"], [t("word.p50"), ".right"], [t("word.p99"), ".right"], [t("word.failed"), ".right"]],
    rows.map((row) => [[row.method && h("span.tag", plain(row.method, 10)), row.route === undefined ? h("span.quiet", t("performance.other")) : shown(row.route, 80)], count(row.count), time(row.mean), format(row.p50), format(row.p99),
      h(row.serverErrors > 0 ? "span.bad" : "span.quiet", { title: t("performance.fault", { client: row.clientErrors, server: row.serverErrors }) }, count(row.clientErrors + row.serverErrors))]))];
}

addWords({
  "statements.advice": "Indexes that would help", "statements.title": "Slow statements", "statements.ofDatabase": "From pg_stat_statements, for all processes.",
  "statements.ofProcess": "Statements of this server process slower than {ms}. To see all processes, load and create the extension pg_stat_statements.",
  "statements.none": "No slow statements.", "statements.noAdvice": "No index is missing for the requests so far.",
  "statements.off": "Nothing is recorded: the option indexAdvice is off.", "statements.createOf": "Create index on {class}: {fields}",
  "statements.before": "{words}: now {before} on average; with the index about {after}.",
  "statements.copy": "A class can't declare this index. Run this in the database:",
  "statements.calls": "{n} {n|time|times}, {mean} on average, {longest} at most", "statements.planOf": "Plan of a statement",
});

function statements(scope) {
  const host = h(".panels", loading(3));
  reading(host, scope, async () => {
    const { body } = await send("GET", "statements", { signal: scope });
    if (!counts.peek().size) loadCounts();
    put(host, h(".panel", h("h2", t("statements.advice")),
      body.advice.length === 0 && h("p.quiet", t(body.isAdvising ? "statements.noAdvice" : "statements.off")),
      body.advice.map(adviceRow)), statementPanel(body));
  });
  return host;
}

function adviceRow(advice) {
  const names = advice.columns.map((name) => plain(name, 60)).join(", ");
  const row = h(".line.member.wrap", h(".grow", shown(advice.why, 400)));
  const create = async () => {
    const [first] = advice.questions;
    const gain = first?.afterMs === undefined ? undefined : t("statements.before", { words: first.words, before: time(first.meanMs), after: time(first.afterMs) });
    if (!(await mayBuild(advice.className, advice.fields, gain))) return;
    const { element, finished } = build(advice.className, advice.fields, { advice: advice.name });
    go.remove();
    row.append(element);
    try {
      element.replaceWith((await finished) ? icon("check") : go);
    } catch (problem) {
      element.replaceWith(go);
      complain(problem);
    }
  };
  const go = button(".button", create, icon("plus"), t("index.build"));
  go.setAttribute("aria-label", t("statements.createOf", { class: advice.className, fields: names }));
  if (advice.fields) row.append(go);
  else row.append(h("div", h("p.quiet", t("statements.copy")), h("code.wrap", shown(advice.statement, 500))));
  return row;
}

function statementPanel({ rows, source, slowMs }) {
  return h(".panel", h("h2", t("statements.title")), h("p.quiet", source === "database" ? t("statements.ofDatabase") : t("statements.ofProcess", { ms: time(slowMs) })),
    rows.length === 0 && h("p", t("statements.none")),
    rows.map((row) => h(".line.member", h(".grow", h("div", h("code", shown(row.text || row.className || "", 300))),
      h(".quiet", row.className && [h("bdi", plain(row.className, 60)), " \u00b7 "], t("statements.calls", { n: row.calls, mean: time(row.mean), longest: time(row.longest) }))),
    row.text && button(".button", () => showPlan(row), icon("schema"), t("word.plan")))));
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

addWords({
  "plan.all": "Reads all of {table}", "plan.index": "Reads {table} through the index {index}", "plan.indexOnly": "Reads only the index {index}",
  "plan.bitmap": "Collects rows through the index {index}", "plan.heap": "Reads the rows of {table} that were collected", "plan.sort": "Sorts",
  "plan.limit": "Takes the first rows", "plan.aggregate": "Counts or sums", "plan.join": "Joins ({kind})", "plan.other": "{kind}", "plan.rows": "about {n} {n|row|rows}",
  "plan.share": "{n}% of the work", "plan.worst": "Most of the work: {step} ({share}%).", "plan.noIndex": "No index helps here.",
  "plan.hint": "An estimate: the statement was not run.",
});

const DETAILS = ["Index Cond", "Recheck Cond", "Filter", "Sort Key", "Hash Cond", "Join Filter"];
const MOST = 200;

const STEPS = new Map([
  ["Seq Scan", "all"], ["Index Scan", "index"], ["Index Only Scan", "indexOnly"], ["Bitmap Index Scan", "bitmap"], ["Bitmap Heap Scan", "heap"], ["Sort", "sort"],
  ["Incremental Sort", "sort"], ["Limit", "limit"], ["Aggregate", "aggregate"], ["Nested Loop", "join"], ["Hash Join", "join"], ["Merge Join", "join"],
]);

const words = (node) => t("plan." + (STEPS.get(node["Node Type"]) ?? "other"), { table: node["Relation Name"] ?? "", index: node["Index Name"] ?? "", kind: node["Node Type"] ?? "" });

/** Returns the steps, each with its own cost, without that of the steps below. */
function steps(node, depth, found) {
  if (!node || typeof node !== "object" || found.length >= MOST) return found;
  const below = Array.isArray(node.Plans) ? node.Plans : [];
  const own = Number(node["Total Cost"] ?? 0) - below.reduce((sum, other) => sum + Number(other["Total Cost"] ?? 0), 0);
  found.push({ node, depth, own: Math.max(0, own) });
  for (const other of below) steps(other, depth + 1, found);
  return found;
}

/** Draws a plan in the format of `EXPLAIN (FORMAT JSON)` as a tree. */
function planTree(plan) {
  const found = steps(Array.isArray(plan) ? plan[0]?.Plan : undefined, 0, []);
  if (found.length === 0) return drawnApart("empty");
  // A limit stops the steps below early, so shares are of the sum of all steps' own costs.
  const all = found.reduce((sum, { own }) => sum + own, 0) || 1;
  const worst = found.reduce((most, step) => (step.own > most.own ? step : most));
  const share = ({ own }) => Math.round(100 * own / all);
  return h(".plan", h("p.notice", t("plan.worst", { step: words(worst.node), share: share(worst) }), worst.node["Node Type"] === "Seq Scan" && worst.node.Filter !== undefined && [" ", t("plan.noIndex")]),
    h("ol", found.map((step) => h("li", { class: step === worst ? "worst" : "", style: { "margin-inline-start": `${Math.min(step.depth, 12) * 14}px` } },
      h(".line.wrap", h("b", words(step.node)), h("span.quiet", t("plan.rows", { n: Number(step.node["Plan Rows"] ?? 0) })), h(".space"), h("span.quiet", t("plan.share", { n: share(step) }))),
      h("progress", { max: "100", value: share(step), "aria-label": t("plan.share", { n: share(step) }) }),
      DETAILS.filter((name) => step.node[name] !== undefined).map((name) => h(".quiet.wrap", h("span", `${name}: `), h("code", shown([step.node[name]].flat().join(", "), 400))))))),
    h("p.quiet", t("plan.hint")));
}
