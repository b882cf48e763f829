/** The filter as JSON, in the place of the sentences. */

import { button, h, put } from "../../core/dom.js";
import { t } from "../../core/words.js";

/** Shows the text; `draw` brings the sentences back. */
export function openJSON(page, host, draw) {
  const text = h("textarea", { rows: 5, "aria-label": t("filter.jsonLabel"), spellcheck: "false", value: JSON.stringify(page.where, null, 2) });
  const problem = h("p.problem", { role: "alert" });
  const apply = () => {
    let where;
    try {
      where = JSON.parse(text.value.trim() || "{}");
      if (where === null || typeof where !== "object" || Array.isArray(where)) throw new Error(text.value.slice(0, 40));
    } catch (reason) {
      text.setAttribute("aria-invalid", "true");
      put(problem, t("filter.invalid", { reason: reason.message }));
      return;
    }
    if (JSON.stringify(where) === JSON.stringify(page.where)) draw();
    else page.change({ where });
  };
  text.addEventListener("keydown", (event) => {
    if (event.key === "Escape") draw();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) apply();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  put(host, h(".filter-json", text, problem, h(".line",
    button(".button.primary", apply, t("filter.apply")),
    button(".button", draw, t("filter.sentences")))));
  text.focus();
}
