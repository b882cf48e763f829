/** Which columns are shown, and in which order. */

import { button, h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { plain } from "../../core/text.js";
import { addWords, t } from "../../core/words.js";
import { choices, choose, ranked, visible } from "../../data/columns.js";
import { zone } from "../../core/format.js";
import { openPanel } from "../../parts/menu.js";

addWords({
  "columns.all": "Show all",
  "columns.left": "Move {field} to the left",
  "columns.right": "Move {field} to the right",
  "columns.utc": "Dates in UTC",
});

/** Opens the panel; each change is shown at once. */
export function open(page, anchor) {
  const { className, description, grid } = page;
  const list = h(".columns");
  const order = () => {
    const chosen = choices(className).order ?? [];
    const all = ranked(description).map(({ name }) => name);
    return [...chosen.filter((name) => all.includes(name)), ...all.filter((name) => !chosen.includes(name))];
  };
  const apply = (change) => {
    choose(className, change);
    page.columns = visible(description);
    draw();
    page.reload();
    grid.columns = page.columns;
    if (grid.isConnected) grid.columnsChanged();
  };
  const move = (name, step) => {
    const names = order();
    const from = names.indexOf(name);
    const to = from + step;
    if (to < 0 || to >= names.length) return;
    names.splice(to, 0, ...names.splice(from, 1));
    apply({ order: names });
    list.querySelector(`[data-move="${step}"][data-name="${CSS.escape(name)}"]`)?.focus();
  };
  const draw = () => {
    const hidden = choices(className).hidden ?? [];
    const arrow = (name, step, words, picture) => h("button.plain", { type: "button", "data-move": step, "data-name": name, "aria-label": t(words, { field: name }), onclick: () => move(name, step) }, icon(picture));
    put(list, order().map((name) => h(".line", h("label.line.grow", h("input", {
      type: "checkbox", checked: !hidden.includes(name), disabled: name === "objectId",
      onchange: (event) => apply({ hidden: event.target.checked ? hidden.filter((other) => other !== name) : [...hidden, name] }),
    }), h("bdi", plain(name, 40))), arrow(name, -1, "columns.left", "up"), arrow(name, 1, "columns.right", "down"))));
  };
  draw();
  openPanel(anchor, h(".pad", list,
    h("label.line", h("input", { type: "checkbox", checked: zone.isUTC, onchange: (event) => { zone.isUTC = event.target.checked; grid.columnsChanged?.(); } }), t("columns.utc")),
    button(".button", () => apply({ hidden: [] }), t("columns.all"))), { label: t("grid.columns") });
}
