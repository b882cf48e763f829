/** How a value looks in a cell of the grid, and wherever else it stands in one line. */

import { h } from "../core/dom.js";
import { bytes, count, date, number } from "../core/format.js";
import { icon } from "../core/icons.js";
import { cut, drawnApart, plain, shown } from "../core/text.js";
import { t } from "../core/words.js";
import { summary } from "./acl/summary.js";
import { nameOf } from "./names.js";
import { typeOf } from "./types.js";

/** What a cell shows of a value. */
export function drawValue(value, field) {
  if (field?.type === "Password") return drawnApart("\u2022\u2022\u2022\u2022\u2022\u2022");
  if (field?.type === "ACL") return drawAccess(value);
  if (value === undefined) return "";
  if (value === null) return drawnApart("null");
  switch (typeOf(value)) {
    case "String": return field?.type === "Date" ? date(value) : shown(value, 160);
    case "Number": return h("span.number", number(value));
    case "Boolean": return h(value ? "span.flag.on" : "span.flag", icon(value ? "check" : "close"), String(value));
    case "Date": return h("time", { title: value.iso }, date(value.iso));
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

/** The name of a file without the random part that storages put before it. */
export const fileName = (name) => String(name ?? "").replace(/^[0-9a-f]{32}_/, "");

const round = (value) => Number(Number(value).toFixed(5));

function listText(value) {
  return value.slice(0, 12).map((item) => (typeof item === "string" ? item : cut(JSON.stringify(item) ?? "null", 60))).join(" \u00b7 ");
}

/** A pointer: the name of what it leads to. */
export function drawPointer({ className, objectId }) {
  const name = nameOf(className, objectId);
  if (name === null) return h("span.pill.gone", { title: plain(objectId) }, icon("warn"), t("cell.gone"));
  return h("span.pill", { title: plain(`${className} ${objectId}`) }, name ? shown(name, 60) : h("span.mono", plain(objectId, 24)));
}

function drawBytes({ base64 }) {
  const size = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  return [h("span.tag", bytes(size)), h("span.mono.quiet", cut(base64, 40))];
}

function drawShortened(value) {
  const words = { Array: "cell.items", Object: "cell.keys", String: "cell.characters" }[value.type];
  return [
    h("span.tag", words && value.count !== undefined ? t(words, { n: value.count }) : value.type, ` \u00b7 ${bytes(value.bytes)}`),
    shown(value.start ?? "", 100),
  ];
}

function drawAccess(value) {
  const { text, isOpen } = summary(value);
  return h(isOpen ? "span.warn" : "span.quiet", text);
}

/** A number of objects, "≈" before an estimate. */
export const counted = ({ objects, isEstimate }) => (isEstimate ? "\u2248" : "") + count(objects);
