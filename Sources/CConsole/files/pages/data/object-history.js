/** What was done to an object through the console, from the audit. */

import { send } from "../../core/api.js";
import { h, put } from "../../core/dom.js";
import { ago, date } from "../../core/format.js";
import { plain } from "../../core/text.js";
import { addWords, t } from "../../core/words.js";
import { inWords } from "../../data/values.js";
import { failed, loading } from "../../parts/states.js";

addWords({
  "history.none": "Nothing was changed through the console yet.",
  "history.did.PUT": "{who} changed",
  "history.did.POST": "{who} wrote",
  "history.did.DELETE": "{who} deleted",
  "history.was": "{field} was {before}",
  "history.change": "{field}: {before} → {after}",
});

/** Fills an element with the rows of the audit about an object. */
export async function historyOf(host, className, objectId) {
  put(host, loading(3));
  let rows;
  try {
    rows = (await send("GET", "audit", { query: { className, objectId } })).body.rows;
  } catch (problem) {
    put(host, failed(problem));
    return;
  }
  const own = rows.filter((row) => (row.ids ?? []).includes(objectId) && (row.status ?? 200) < 400);
  put(host, own.length === 0 ? h("p.quiet", t("history.none")) : h("ol.history", own.map((row) => h("li",
    h("span", t("history.did." + row.method, { who: row.operator ?? "" })), " ", h("time.quiet", { title: date(row.at, true) }, ago(row.at)),
    changes(row).map((text) => h("div.mono.wrap", text))))));
}

function changes({ before, after, fields }) {
  const old = new Map(Object.entries(before ?? {}));
  const now = new Map(Object.entries(after ?? {}));
  return (fields ?? [...now.keys()]).filter((field) => field !== "updatedAt").slice(0, 12)
    .map((field) => plain(t(after ? "history.change" : "history.was", { field, before: inWords(old.get(field)), after: inWords(now.get(field)) }), 300));
}
