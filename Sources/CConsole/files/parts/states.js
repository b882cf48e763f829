/** The states of lists beside "here they are": loading, empty, failed, not allowed. */

import { button, h, icon } from "../core/dom.js";
import { session } from "../core/session.js";
import { plain, t } from "../core/words.js";

/** Grey bars, which appear when loading takes longer than a moment. */
export function loading(rows = 8) {
  const bars = Array.from({ length: rows }, (_, index) => h("i", { style: { width: `${90 - ((index * 37) % 50)}%` } }));
  return h(".skeleton", { "aria-busy": "true" }, bars);
}

/** Nothing here: what for, and how to get the first. */
export function empty({ picture = "data", title, text, actions = [] }) {
  return h(".state", h(".badge", icon(picture)), h("h2", title), h("p", text), h(".actions", actions));
}

/** What was refused, in the server's words, with code and request to copy. */
export function failed(problem, again) {
  const isForbidden = problem.status === 403;
  const details = [problem.request && plain(problem.request), problem.code !== undefined && t("error.code", { code: String(problem.code) }),
    problem.requestId && t("error.request", { id: problem.requestId })].filter(Boolean).join(" · ");
  return h(".state.failed", { role: "alert" }, h(".badge", icon(isForbidden ? "lock" : "warn")),
    h("h2", t(isForbidden ? "error.notAllowed" : "error.failed")), h("p", plain(problem.message, 500)),
    isForbidden && h("p", t("error.notAllowedHint", { role: session.peek()?.operator.role ?? "" })),
    details && h("p.mono", details),
    h(".actions",
      again && button(".button.primary", again, icon("refresh"), t("error.again")),
      button(".button", () => navigator.clipboard?.writeText(`${problem.message}\n${details}`), icon("copy"), t("error.copy"))));
}
