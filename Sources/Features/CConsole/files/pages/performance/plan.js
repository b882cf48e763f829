/** A plan of PostgreSQL as a tree: what each step does in words, and which share of the work it is. */

import { h } from "../../core/dom.js";
import { addWords, drawnApart, shown, t } from "../../core/words.js";

addWords({
  "plan.all": "Reads all of {table}", "plan.index": "Reads {table} by the index {index}", "plan.indexOnly": "Reads the index {index} alone",
  "plan.bitmap": "Collects rows by the index {index}",
  "plan.heap": "Reads the rows of {table} that were collected",
  "plan.sort": "Sorts", "plan.limit": "Takes the first rows", "plan.aggregate": "Counts or sums", "plan.join": "Joins ({kind})",
  "plan.other": "{kind}", "plan.rows": "about {n} {n|row|rows}", "plan.share": "{n} % of the work",
  "plan.worst": "Most of the work: {step} ({share} %).", "plan.noIndex": "No index serves this.",
  "plan.hint": "What the database expects without knowing the values; the statement was not run.",
});

/** What a step is about, and its conditions. */
const DETAILS = ["Index Cond", "Recheck Cond", "Filter", "Sort Key", "Hash Cond", "Join Filter"];
const MOST = 200;

function words(node) {
  const places = { table: node["Relation Name"] ?? "", index: node["Index Name"] ?? "", kind: node["Node Type"] ?? "" };
  switch (node["Node Type"]) {
    case "Seq Scan": return t("plan.all", places);
    case "Index Scan": return t("plan.index", places);
    case "Index Only Scan": return t("plan.indexOnly", places);
    case "Bitmap Index Scan": return t("plan.bitmap", places);
    case "Bitmap Heap Scan": return t("plan.heap", places);
    case "Sort": case "Incremental Sort": return t("plan.sort");
    case "Limit": return t("plan.limit");
    case "Aggregate": return t("plan.aggregate");
    case "Nested Loop": case "Hash Join": case "Merge Join": return t("plan.join", places);
    default: return t("plan.other", places);
  }
}

/** The steps, each with its own cost: what is left when those of the steps below are taken away. */
function steps(node, depth, found) {
  if (!node || typeof node !== "object" || found.length >= MOST) return found;
  const below = Array.isArray(node.Plans) ? node.Plans : [];
  const own = Number(node["Total Cost"] ?? 0) - below.reduce((sum, other) => sum + Number(other["Total Cost"] ?? 0), 0);
  found.push({ node, depth, own: Math.max(0, own) });
  for (const other of below) steps(other, depth + 1, found);
  return found;
}

/** The tree of a plan as `EXPLAIN (FORMAT JSON)` has it. */
export function planTree(plan) {
  const found = steps(Array.isArray(plan) ? plan[0]?.Plan : undefined, 0, []);
  if (found.length === 0) return drawnApart("empty");
  // A limit stops what lies below it: steps count by themselves, and together they are all of the work.
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
