/** A row on a phone: what names it, and three more of its fields. */

import { h } from "../core/dom.js";
import { drawValue } from "./cells.js";
import { shown } from "../core/text.js";

/** The card of a row; a grey one while the row is on its way. */
export function drawCard(row, columns) {
  if (!row) return h(".g-card", h("i.g-wait"));
  const [first, ...others] = columns.filter(({ name }) => name !== "objectId");
  const more = others.filter(({ name, type }) => row.values.has(name) && !["ACL", "Relation", "Object", "Bytes", "Polygon"].includes(type)).slice(0, 3);
  const name = first && row.values.get(first.name);
  return h(".g-card", { role: "gridcell" },
    h(".name", name === undefined || name === null || name === "" ? shown(row.id) : drawValue(name, first)),
    h(".more", more.map((field) => h("span", drawValue(row.values.get(field.name), field)))));
}
