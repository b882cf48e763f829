/** The panel in which a condition is chosen: field, operator, value; alternatives by "or". */

import { button, h, put } from "../../core/dom.js";
import { plain } from "../../core/text.js";
import { t } from "../../core/words.js";
import { openPanel } from "../../parts/menu.js";
import { ranked } from "../columns.js";
import { classes } from "../schema.js";
import { OPERATORS } from "./model.js";
import { operatorWord } from "./sentence.js";
import { valueField } from "./value.js";
import "./words.js";

/** Opens the panel beside an element; `done(group)` is called with what was chosen. */
export function editGroup({ anchor, className, group, start, done }) {
  const rows = [];
  const list = h("div.conditions");
  const problem = h("p.problem", { role: "alert" });
  const slow = h("p.quiet", { hidden: true }, t("filter.slow"));
  const changed = () => { slow.hidden = !rows.some((row) => ["contains", "ends"].includes(row.operator())); };
  const add = (condition) => {
    const row = conditionRow(className, condition, changed);
    rows.push(row);
    put(list, rows.flatMap(({ element }, index) => [index > 0 && h("span.label", t("filter.or")), element]));
    changed();
    return row;
  };
  const apply = () => {
    put(problem);
    const next = [];
    for (const row of rows) {
      try {
        next.push(row.read());
      } catch (refusal) {
        put(problem, refusal.message);
        row.focusValue();
        return;
      }
    }
    close();
    done(next);
  };
  const panel = h("form.pad.filter-editor", { onsubmit: (event) => { event.preventDefault(); apply(); } },
    list, slow, problem,
    h(".line", button(".plain", () => { add({ field: rows.at(-1).field() }).focusValue(); }, t("filter.addOr")), h(".space"),
      h("button.button.primary", { type: "submit" }, t("filter.apply"))));
  for (const condition of group ?? [{ field: start }]) add(condition);
  const close = openPanel(anchor, panel, { label: t("filter.add") });
  if (start || group) rows[0].focusValue();
}

/** Field, operator and value of one condition, as an element that can be read. */
export function conditionRow(className, { field: name, operator, value } = {}, changed = () => {}) {
  const description = classes.peek().get(className);
  const fields = ranked(description).filter(({ type }) => OPERATORS.has(type));
  const first = fields.find((field) => field.name === name) ?? fields.find((field) => field.name !== "objectId") ?? fields[0];
  const fieldChoice = h("select", { "aria-label": t("filter.field") }, fields.map((field) => h("option", { value: field.name, selected: field === first }, plain(field.name, 60))));
  const operatorChoice = h("select", { "aria-label": t("filter.operator") });
  const place = h(".value");
  let field = first;
  let input;
  const fillValue = (given) => {
    input = valueField(field, operatorChoice.value, given, className);
    put(place, input.element);
    place.hidden = !input.element;
    changed();
  };
  const fillOperators = (given) => {
    put(operatorChoice, OPERATORS.get(field.type).map((one) => h("option", { value: one, selected: one === given }, operatorWord(one, field.type))));
  };
  fieldChoice.addEventListener("change", () => {
    field = fields.find((one) => one.name === fieldChoice.value);
    fillOperators();
    fillValue();
  });
  operatorChoice.addEventListener("change", () => {
    let kept;
    try {
      kept = input.read();
    } catch {
      kept = undefined;
    }
    fillValue(kept);
  });
  fillOperators(operator);
  fillValue(value);
  return {
    element: h(".condition", fieldChoice, operatorChoice, place),
    read: () => ({ field: field.name, operator: operatorChoice.value, value: input.read() }),
    field: () => field.name,
    operator: () => operatorChoice.value,
    focusValue: () => (place.querySelector("input, select, textarea") ?? operatorChoice).focus(),
  };
}
