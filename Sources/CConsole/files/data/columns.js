/** The columns of a class: their rank, widths, and what an operator chose. */

import { namingField } from "./schema.js";

const RANK = ["String", "Pointer", "Number", "Boolean", "Date", "File", "GeoPoint", "Array", "Object", "Relation", "Polygon", "Bytes", "Password"];
const WIDTHS = { String: 200, Pointer: 168, Number: 112, Boolean: 96, Date: 168, File: 168, GeoPoint: 160, Array: 192, Object: 224, Relation: 120, ACL: 208, Password: 96 };

/** All columns of a class in the order in which they are of use; dates of the object and the ACL come last. */
export function ranked(description) {
  const naming = namingField(description.className);
  const rank = ({ name, type }) => {
    if (name === "objectId") return -2;
    if (name === naming) return -1;
    if (name === "createdAt" || name === "updatedAt") return 50;
    if (name === "ACL") return 51;
    const place = RANK.indexOf(type);
    return place < 0 ? 40 : place;
  };
  return [...description.fields.values()].map((field) => ({ ...field, width: WIDTHS[field.type] ?? 168 }))
    .map((field) => (field.name === "objectId" ? { ...field, width: 128 } : field))
    .sort((left, right) => rank(left) - rank(right) || left.name.localeCompare(right.name, "en"));
}

const key = (className) => `roost.columns.${className}`;

/** What an operator chose for a class: `{ order, hidden, widths }`. */
export function choices(className) {
  try {
    return JSON.parse(localStorage.getItem(key(className))) ?? {};
  } catch {
    return {};
  }
}

/** Keeps a choice in this browser. */
export function choose(className, change) {
  localStorage.setItem(key(className), JSON.stringify({ ...choices(className), ...change }));
}

/** The columns that are shown, in the order and the widths of the operator, or of a saved view. */
export function visible(description, { order, hidden = [], widths = {} } = choices(description.className)) {
  let columns = ranked(description);
  if (order) {
    const place = (column) => (order.includes(column.name) ? order.indexOf(column.name) : order.length);
    columns = columns.map((column, index) => [column, index]).sort(([a, i], [b, j]) => place(a) - place(b) || i - j).map(([column]) => column);
  }
  return columns.filter((column) => !hidden.includes(column.name))
    .map((column) => ({ ...column, width: Number(new Map(Object.entries(widths)).get(column.name)) || column.width }));
}
