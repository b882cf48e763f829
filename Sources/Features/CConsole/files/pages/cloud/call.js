/** One cloud function: its checks, a test call as any user, the response, and the resulting log lines. */

import { parse, send } from "../../core/api.js";
import { button, h, icon, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { drawValue } from "../../data/cells.js";
import { tree } from "../../data/editors/tree.js";
import { typeOf } from "../../data/schema.js";
import { keepFocus } from "../../parts/dialog.js";
import { lineRow, openLine } from "../logs/lines.js";
import { checks } from "./index.js";

addWords({
  "call.all": "All functions", "call.title": "Call {name}", "call.checked": "Requires: {checks}", "call.as": "Caller",
  "call.master": "with all rights (master key)", "call.nobody": "without signing in", "call.user": "a user", "call.who": "Name or id of the user",
  "call.noSession": "The code gets the user, but no session token.", "call.go": "Call", "call.answer": "Response", "call.took": "{ms} ms",
  "call.nothing": "No result.", "call.lines": "Log lines", "call.noLines": "No lines yet.", "call.object": "Parameters must be a JSON object: {problem}",
  "call.noUser": "There is no user {who}.", "call.changes": "The code runs for real. Its changes stay.",
});

export function openFunction(host, entry, scope) {
  const params = h("textarea", { rows: "6", spellcheck: "false", value: JSON.stringify(Object.fromEntries((entry.validator?.fields ?? []).map(({ name, default: value }) => [name, value ?? null])), null, 2) });
  const who = textField({ "aria-label": t("call.who"), placeholder: t("call.who"), hidden: true });
  const hint = h("p.quiet", { hidden: true }, t("call.noSession"));
  const as = h("select", { onchange: () => { who.hidden = hint.hidden = as.value !== "user"; } }, ["master", "nobody", "user"].map((value) => option(value, t("call." + value))));
  const problem = problemLine();
  const answer = h(".panel", { hidden: true, role: "status" });
  const lines = h(".panel", { hidden: true });
  let followed;
  const go = button(".button.primary", call, icon("check"), t("call.go"));
  async function call() {
    put(problem);
    go.disabled = true;
    try {
      const body = read(params.value);
      const headers = await viewAs(as.value, who.value.trim(), scope);
      const began = performance.now();
      const outcome = await parse.post("functions/" + encodeURIComponent(entry.name), body, { headers, signal: scope }).catch((refusal) => refusal);
      if (scope.aborted) return;
      if (outcome instanceof Error && !outcome.status) throw outcome;
      show(outcome, performance.now() - began);
      // The next call needn't wait for the log lines of this one.
      follow(outcome.requestId ?? outcome.headers?.get("X-Request-Id")).catch(() => { lines.hidden = true; });
    } catch (refusal) {
      if (!scope.aborted) put(problem, plain(refusal.message, 300));
    } finally {
      go.disabled = false;
    }
  }
  function show(outcome, ms) {
    const took = h("span.quiet", t("call.took", { ms: Math.round(ms) }));
    const result = outcome.body?.result;
    answer.hidden = false;
    put(answer, h("h2", t("call.answer"), " ", took), outcome instanceof Error
      ? [h("p.bad", t("word.failed")), h("p.mono.wrap", shown(outcome.message, 2000)), h("p.quiet", [outcome.code !== undefined && t("error.code", { code: String(outcome.code) }), String(outcome.status)].filter(Boolean).join(" \u00b7 "))]
      : result === undefined ? h("p.quiet", t("call.nothing")) : ["Object", "Array"].includes(typeOf(result)) ? tree(result).element : h("p", typeof result === "string" ? shown(result, 5000) : drawValue(result, { name: "result", type: typeOf(result) })));
  }
  /** Shows the log lines of a request. Waits for its last line, which is logged after its response was sent. */
  async function follow(id) {
    lines.hidden = !id;
    followed = id;
    for (let round = 0; id && round < 5; round += 1) {
      const { body } = await send("GET", "logs", { query: { request: id }, signal: scope });
      if (scope.aborted || followed !== id) return;
      keepFocus(lines, () => put(lines, h("h2", t("call.lines")), body.lines.length === 0 ? h("p.quiet", t("call.noLines"))
        : body.lines.map((line) => h("button.log-line", { onclick: () => openLine(line) }, lineRow(line)))));
      if (body.lines.some(({ message }) => message === "request")) return;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
  put(host, h("p.crumbs", h("a", { href: address("cloud") }, t("call.all"))), h("section.panel", h("h2", t("call.title", { name: entry.name })), h("p.quiet", t("call.checked", { checks: checks(entry.validator) })),
    labelled(t("word.params"), params), h(".line.wrap", labelled(t("call.as"), as), who), hint, h("p.quiet", t("call.changes")), problem, go), answer, lines);
  params.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) go.click();
  });
}

export function read(text) {
  let value;
  try {
    value = JSON.parse(text.trim() || "{}");
  } catch (problem) {
    throw new Error(t("call.object", { problem: problem.message }));
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Error(t("call.object", { problem: typeOf(value) ?? "null" }));
  return value;
}

/** Returns the header fields that select whose view is shown. */
export async function viewAs(kind, who, scope) {
  if (kind === "master") return {};
  if (kind === "nobody") return { "X-Roost-View-As": "anonymous" };
  const { body } = await parse.get("classes/_User", { where: { $or: [{ objectId: who }, { username: who }] }, keys: "username", limit: 1 }, { signal: scope });
  if (body.results.length === 0) throw new Error(t("call.noUser", { who }));
  return { "X-Roost-View-As": body.results[0].objectId };
}
