/** The fields of the row at which the grid stands, beside it. */

import { h, iconButton, put } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { addWords, shown, t } from "../../core/words.js";
import { ranked } from "../../data/columns.js";
import { fieldList } from "../../data/editing.js";
import { nameOfRow } from "../../data/save.js";

addWords({ "inspector.title": "Inspector", "inspector.open": "Open" });

/** Opens or closes the inspector of a page. */
export function toggle(page) {
  if (page.inspector) {
    page.inspector.end();
    page.inspector = undefined;
    page.grid.focus({ preventScroll: true });
    return;
  }
  const element = h("aside.inspector", { "aria-label": t("inspector.title") });
  let control;
  let shownRow;
  const draw = () => {
    const row = page.grid.activeRow;
    if (!row || (row === shownRow && element.childElementCount)) return;
    shownRow = row;
    control?.abort();
    control = new AbortController();
    put(element, h("header.head", h("h2.grow", shown(nameOfRow(page.className, row), 60)),
      h("a.button", { href: address("data", [page.className, row.id]) }, t("inspector.open")),
      iconButton("close", t("close"), () => toggle(page))),
    fieldList({ className: page.className, row, rows: page.rows, fields: ranked(page.description), scope: control.signal }));
  };
  page.inspectorElement = element;
  page.body.append(element);
  const moved = page.moved;
  page.moved = () => { moved(); draw(); };
  draw();
  page.inspector = { end: () => { control?.abort(); element.remove(); page.inspectorElement = undefined; page.moved = moved; } };
}
