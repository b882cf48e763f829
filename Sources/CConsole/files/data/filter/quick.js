/** A condition from the cell at which the grid stands. */

import { OPERATORS } from "./model.js";
import { isShortened, typeOf } from "../types.js";

/** Adds "field is value" to the filter of a page. */
export function filterByCell(page) {
  const { grid } = page;
  const field = grid.activeColumn;
  const value = grid.activeRow?.values.get(field?.name);
  const operators = OPERATORS.get(field?.type);
  if (!operators || isShortened(value)) return;
  const equal = operators.includes("$eq") ? "$eq" : undefined;
  if (value === undefined || value === null) page.addGroup([{ field: field.name, operator: "$missing" }]);
  else if (field.type === "Date") page.addGroup([{ field: field.name, operator: "$gte", value: typeof value === "string" ? { __type: "Date", iso: value } : value }]);
  else if (equal && typeOf(value)) page.addGroup([{ field: field.name, operator: equal, value: typeOf(value) === "Pointer" ? { __type: "Pointer", className: value.className, objectId: value.objectId } : value }]);
  else page.addCondition(field.name);
}
