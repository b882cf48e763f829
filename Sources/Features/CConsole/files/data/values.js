/** Formats, parses and compares Parse values. */

import { isEqual } from "../core/signal.js";
import { addWords, date, number, plain, t } from "../core/words.js";
import { typeOf } from "./schema.js";

export { isEqual };

export const pointer = (className, objectId) => ({ __type: "Pointer", className, objectId });

/** Sets an own property, even one named `__proto__`. */
export function setOwn(object, key, value) {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  return object;
}

/**
 * Returns the stored form of a removed value. A removed ACL becomes a public one, because the REST API turns a missing one into an empty
 * ACL, to which only the master key has access.
 */
export const noValue = (field) => (field.type === "ACL" ? { "*": { read: true, write: true } } : undefined);

/** Copies a value. All of its keys are own keys. */
export const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** Formats a value as text that spreadsheets and line editors can display and return. */
export function asText(value) {
  switch (typeOf(value)) {
    case undefined: return "";
    case "String": return value;
    case "Number": return Object.is(value, -0) ? "-0" : String(value);
    case "Boolean": return String(value);
    case "Date": return value.iso;
    case "Pointer": return value.objectId;
    case "File": return value.name;
    case "GeoPoint": return `${value.latitude}, ${value.longitude}`;
    case "Bytes": return value.base64;
    case "Shortened": return value.start;
    default: return JSON.stringify(value);
  }
}

/** Formats a value for a sentence, such as a message or condition. */
export function inWords(value) {
  switch (typeOf(value)) {
    case undefined: return "null";
    case "String": return `\u201c${plain(value, 40)}\u201d`;
    case "Number": return number(value);
    case "Date": return date(value.iso);
    default: return plain(asText(value), 60);
  }
}

/** Creates the error for a text that isn't a value of a field. */
export const notOne = (text, field) => new Error(t("edit.notOne", { field: field.name, type: t("type." + field.type), text: plain(text, 40) }));

/**
 * Parses a text as a value of a field. Returns undefined for an empty text, except for strings. Throws an error with a readable message.
 */
export function fromText(text, field) {
  const trimmed = text.trim();
  const refuse = () => { throw notOne(text, field); };
  if (field.type === "String") return text;
  if (trimmed === "") return undefined;
  switch (field.type) {
    case "Number":
      if (losesDigits(trimmed)) throw new Error(t("edit.digits", { text: plain(trimmed, 40) }));
      return parseNumber(trimmed) ?? refuse();
    case "Boolean": return /^(true|yes|1)$/i.test(trimmed) || (/^(false|no|0)$/i.test(trimmed) ? false : refuse());
    case "Date": {
      const at = parseDate(trimmed);
      return at ? { __type: "Date", iso: at } : refuse();
    }
    case "Pointer": return /^[\x21-\x7e]+$/.test(trimmed) ? pointer(field.targetClass, trimmed) : refuse();
    case "GeoPoint": {
      const point = parsePoint(trimmed);
      return point ? { __type: "GeoPoint", latitude: point[0], longitude: point[1] } : refuse();
    }
    default: {
      let value;
      try {
        value = JSON.parse(text);
      } catch {
        return refuse();
      }
      const isArray = Array.isArray(value);
      if (field.type === "Array" ? !isArray : isArray || value === null || typeof value !== "object") return refuse();
      return value;
    }
  }
}

/** Parses "59.33, 18.06" as `[latitude, longitude]`, or returns undefined. */
export function parsePoint(text) {
  const match = /^\(?\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*\)?$/i.exec(text);
  return match && Math.abs(match[1]) <= 90 && Math.abs(match[2]) <= 180 ? [Number(match[1]), Number(match[2])] : undefined;
}

/** Parses a decimal or exponential number. Returns undefined for other texts, and for numbers too large for a double. */
export function parseNumber(text) {
  const bare = text.replace(/(?<=\d),(?=\d{3}(\D|$))/g, "").replace(/[\u00a0 ](?=\d{3})/g, "");
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare)) return undefined;
  const value = Number(bare);
  return Number.isFinite(value) ? value : undefined;
}

/** Removes trailing zeros. A regular expression would take quadratic time. */
function withoutZeros(text) {
  let end = text.length;
  while (text[end - 1] === "0") end -= 1;
  return text.slice(0, end);
}

/** Returns the significant digits of a number, without outer zeros, the point and the exponent. */
const significant = (text) => withoutZeros(text.toLowerCase().split("e")[0].replace(/[^\d.]/g, "").replace(/^0*\.?0*/, "").replace(".", ""));

/** Whether a text has more digits than a double keeps, so that another number would be stored. */
export function losesDigits(text) {
  const digits = significant(text);
  if (digits.length <= 15) return false;
  const value = parseNumber(text.trim());
  // A double has at most 309 digits before the decimal point.
  return digits.length > 309 || (value !== undefined && significant(String(value)) !== digits);
}

const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;

/** Adds an apostrophe if a spreadsheet would read the text as a formula, ignoring leading apostrophes. */
export const guarded = (text) => (FORMULA.test(text) ? "'" + text : text);

/** Removes the apostrophe that `guarded` adds. */
export const unguarded = (text) => (text.startsWith("'") && FORMULA.test(text) ? text.slice(1) : text);

const UNITS = { second: 1e3, minute: 6e4, hour: 36e5, day: 864e5, week: 6048e5 };

/** Parses "2024-05-01 10:00", an ISO date, "now", "2 days ago" or "in 3 hours" to an ISO date, or returns undefined. */
export function parseDate(text, isUTC = localStorage.getItem("roost.zone") === "utc") {
  if (/^now$/i.test(text)) return new Date().toISOString();
  const relative = /^(in )?(\d+) (second|minute|hour|day|week)s?( ago)?$/i.exec(text);
  if (relative && Boolean(relative[1]) !== Boolean(relative[4])) {
    return new Date(Date.now() + (relative[1] ? 1 : -1) * relative[2] * UNITS[relative[3].toLowerCase()]).toISOString();
  }
  const parts = /^([+-]\d{6}|\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,3}))?)?)?\s*(Z|UTC|[+-]\d{2}:\d{2})?$/i.exec(text);
  if (!parts) return undefined;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", offset] = parts;
  const zone = offset ? (/^[+-]/.test(offset) ? offset : "Z") : isUTC ? "Z" : "";
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, "0")}${zone}`);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

addWords({
  "type.String": "a String", "type.Number": "a Number", "type.Boolean": "true or false", "type.Date": "a date",
  "type.Pointer": "an id", "type.GeoPoint": "a pair of latitude and longitude", "type.Array": "a JSON list",
  "type.Object": "a JSON object", "type.Polygon": "a polygon", "type.File": "a file", "type.Bytes": "Bytes", "type.ACL": "an ACL",
  "edit.notOne": "{field} is {type}; {text} is not one.",
  "edit.digits": "{text} has more digits than a Number keeps. Use a String.",
  "edit.label": "{field} of {object}",
  "date.means": "{date}", "date.hint": "2024-05-01 10:00, now, 2 days ago", "date.local": "Local time", "date.pick": "Calendar",
  "geo.hint": "59.33, 18.06",
  "number.hint": "12.5, or +1 to add",
  "pointer.find": "Name or id of {class}", "pointer.none": "No {class} has that name.", "pointer.unknown": "No {class} has the name or the id {text}.", "pointer.clear": "Not set",
  "delete.title": "Delete {n} {n|object|objects} of {class}?",
  "delete.text": "The trash keeps deleted objects for 30 days.", "delete.sessions": "Ended sessions can't be restored.",
  "delete.done": "{n} {n|object|objects} of {class} deleted",
  "delete.without": "Without {fields}, which {class} no longer has, or has with another type",
  "delete.restored": "{n} {n|object|objects} restored", "delete.type": "Type {n} to continue",
});
