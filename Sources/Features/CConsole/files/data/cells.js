/** Displays values on one line, in cells and elsewhere, and the column titles. */

import { h, icon, put } from "../core/dom.js";
import { bytes, count, cut, date, drawnApart, number, plain, said, shown, t, zone } from "../core/words.js";
import { nameOf, typeOf } from "./schema.js";

export function drawValue(value, field) {
  if (field?.type === "Password") return drawnApart("\u2022\u2022\u2022\u2022\u2022\u2022");
  if (field?.type === "ACL") return drawAccess(value, field.isLimited);
  if (value === undefined) return "";
  if (value === null) return drawnApart("null");
  switch (typeOf(value)) {
    case "String": return field?.type === "Date" ? date(value) : shown(value, 160);
    case "Number": return h("span.number", number(value));
    case "Boolean": return h(value ? "span.flag.on" : "span.flag", icon(value ? "check" : "close"), String(value));
    case "Date": return h("time", { title: plain(value.iso) }, date(value.iso));
    case "Pointer": return drawPointer(value);
    case "Relation": return h("span.quiet", t("cell.members"));
    case "File": return h("span.withIcon", icon("file"), shown(fileName(value.name), 80));
    case "GeoPoint": return h("span.number", `${round(value.latitude)}, ${round(value.longitude)}`);
    case "Polygon": return h("span.quiet", t("cell.points", { n: value.coordinates?.length ?? 0 }));
    case "Bytes": return drawBytes(value);
    case "Shortened": return drawShortened(value);
    case "Array": return [h("span.tag", t("cell.items", { n: value.length })), value.length > 0 && shown(listText(value), 120)].filter(Boolean);
    default: return shown(JSON.stringify(value), 160);
  }
}

/** Returns the name of a file without the random prefix that storages add. */
export const fileName = (name) => String(name ?? "").replace(/^[0-9a-f]{32}_/, "");

const round = (value) => Number(Number(value).toFixed(5));

function listText(value) {
  return value.slice(0, 12).map((item) => (typeof item === "string" ? item : cut(JSON.stringify(item) ?? "null", 60))).join(" \u00b7 ");
}

/** Draws a pointer as the name of its object. */
export function drawPointer({ className, objectId }) {
  const name = nameOf(className, objectId);
  if (name === null) return h("span.pill.gone", { title: plain(objectId) }, icon("warn"), t("cell.gone"));
  return h("span.pill", { title: plain(`${className} ${objectId}`) }, name ? shown(name, 60) : h("span.mono", plain(objectId, 24)));
}

function drawBytes({ base64 }) {
  const size = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  return [h("span.tag", bytes(size)), h("span.mono.quiet", shown(base64, 40))];
}

function drawShortened(value) {
  const words = new Map([["Array", "cell.items"], ["Object", "cell.keys"], ["String", "cell.characters"]]).get(value.type);
  return [
    h("span.tag", words && value.count !== undefined ? t(words, { n: value.count }) : plain(value.type, 20), ` \u00b7 ${bytes(value.bytes)}`),
    shown(value.start ?? "", 100),
  ];
}

function drawAccess(value, isLimited) {
  const { text, isOpen } = summary(value, isLimited);
  return h(isOpen ? "span.warn" : "span.quiet", text);
}

/** Formats a number of objects, with "≈" before an estimate. */
export const counted = ({ objects, isEstimate }) => (isEstimate ? "\u2248" : "") + count(objects);

/** Describes a principal of an ACL. */
export function who(key) {
  if (key === "*") return t("cell.everybody");
  if (key.startsWith("role:")) return t("cell.role", { name: key.slice(5) });
  const name = nameOf("_User", key);
  return name ? plain(name, 60) : t("cell.user", { id: key });
}

/** Describes what one entry of an ACL allows, or returns undefined if it allows nothing. */
export function sentence(key, rights) {
  const read = rights?.read === true;
  const write = rights?.write === true;
  if (!read && !write) return undefined;
  return t(read && write ? "cell.changes" : read ? "cell.reads" : "cell.writes", { who: said(who(key)) });
}

/** Summarizes an ACL as `{ text, isOpen }`; `isOpen` is whether everybody may change the object, unless the class limits that. */
export function summary(acl, isLimited) {
  if (acl === undefined || acl === null) return { text: t("cell.aclNone"), isOpen: !isLimited };
  const entries = Object.entries(acl).map(([key, rights]) => [key, sentence(key, rights)]).filter(([, text]) => text)
    .sort(([left], [right]) => Number(right === "*") - Number(left === "*"));
  if (entries.length === 0) return { text: t("cell.aclMaster"), isOpen: false };
  const more = entries.length - 2;
  const text = entries.slice(0, 2).map(([, words]) => words).join("; ") + (more > 0 ? " " + t("cell.more", { n: more }) : "");
  return { text, isOpen: !isLimited && Object.hasOwn(acl, "*") && acl["*"]?.write === true };
}

/** Draws the card of a row, or a gray one while the row is loading. */
export function drawCard(row, columns) {
  if (!row) return h(".g-card", h("i.g-wait"));
  const [first, ...others] = columns.filter(({ name }) => name !== "objectId");
  const more = others.filter(({ name, type }) => row.values.has(name) && !["ACL", "Relation", "Object", "Bytes", "Polygon"].includes(type)).slice(0, 3);
  const name = first && row.values.get(first.name);
  return h(".g-card", { role: "gridcell" },
    h(".name", name === undefined || name === null || name === "" ? shown(row.id) : drawValue(name, first)),
    h(".more", more.map((field) => h("span", drawValue(row.values.get(field.name), field)))));
}

export function drawHead(grid) {
  const { geometry } = grid;
  const { firstColumn, lastColumn } = geometry.view(grid.rows?.length ?? 0);
  const cells = [h(".g-gutter", { role: "columnheader" }, h("span.sr", "#"))];
  for (let column = 0; column < geometry.frozen; column += 1) cells.push(title(grid, column));
  cells.push(h(".g-space", { "aria-hidden": "true", style: { width: `${geometry.skipped(firstColumn)}px` } }));
  for (let column = Math.max(firstColumn, geometry.frozen); column <= Math.min(lastColumn, grid.columns.length - 1); column += 1) {
    cells.push(title(grid, column));
  }
  put(grid.head, cells);
}

function title(grid, column) {
  const field = grid.columns[column];
  const order = grid.rows?.order;
  const direction = order === field.name ? "up" : order === "-" + field.name ? "down" : null;
  const element = h(".g-title", {
    role: "columnheader", "aria-colindex": String(column + 1), style: { width: `${field.width}px` }, title: plain(`${field.name}: ${field.type}`),
    "aria-sort": direction && (direction === "up" ? "ascending" : "descending"),
  },
  h("button", { tabIndex: -1, onclick: (event) => grid.controller.title?.(field, event.currentTarget) },
    h("bdi", plain(field.name, 60)), field.type === "Date" && h("small", zone.isUTC ? t("grid.utc") : t("grid.local")), direction && icon(direction)),
  h("i.g-resize", { onpointerdown: (event) => resize(grid, column, event) }));
  if (grid.geometry.isFrozen(column)) {
    element.classList.add("frozen");
    element.style.insetInlineStart = `${grid.geometry.left(column)}px`;
  }
  if (field.type === "Number") element.classList.add("right");
  return element;
}

function resize(grid, column, event) {
  event.preventDefault();
  event.stopPropagation();
  const field = grid.columns[column];
  const from = event.clientX;
  const width = field.width;
  const move = ({ clientX }) => {
    field.width = Math.max(56, Math.min(900, width + clientX - from));
    grid.columnsChanged();
  };
  const end = () => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", end);
    grid.controller.resized?.(field);
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", end);
}
