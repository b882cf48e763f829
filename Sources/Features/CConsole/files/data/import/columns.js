/** Maps the columns of a file to fields and types, and converts their values. */

import { objectPath, parse } from "../../core/api.js";
import { addWords, plain, t } from "../../core/words.js";
import { classes, isServerClass, namingField, typeOf } from "../schema.js";
import { fromText, losesDigits, parseDate, parseNumber, setOwn, unguarded } from "../values.js";

addWords({
  "import.width": "{n} {n|value|values} instead of {wanted}", "import.badKey": "{key} is not a field name", "import.twice": "Two columns go to {field}.",
  "import.needed": "Choose a column for {field}, which is required, or change that on the page Schema.",
  "import.several": "Several {class} have the name {text}. Write the id.",
});

/** Names that can't be fields, because JavaScript objects have members of these names. */
const FORBIDDEN = new Set(["__proto__", "constructor", "prototype"]);
/** The built-in fields of every object, with their types in a file. */
const OWN = new Map([["objectId", "String"], ["createdAt", "Date"], ["updatedAt", "Date"], ["ACL", "ACL"]]);

/** Returns the fields of a class that a file may contain. */
export function targets(className) {
  const fields = [...classes.peek().get(className).fields.values()].filter(({ type, name }) => type !== "Relation" && (type !== "Password" || name === "password"));
  return new Map(fields.map((field) => [field.name, { ...field, type: OWN.get(field.name) ?? (field.type === "Password" ? "String" : field.type) }]));
}

/** Infers the columns from a sample of records: `{ key, name, type, targetClass, isNew, isUsed, samples }`. */
export function columnsOf(kind, sample, className, mayAdd) {
  const known = targets(className);
  const keys = new Map();
  if (kind === "csv") {
    sample.names.forEach((name, index) => keys.set(index, { key: index, title: name ?? "", samples: sample.rows.map(({ cells }) => cells[index] ?? null) }));
  } else {
    for (const { object } of sample.rows) {
      for (const [name, value] of Object.entries(object ?? {})) {
        if (!keys.has(name)) keys.set(name, { key: name, title: name, samples: [] });
        keys.get(name).samples.push(value);
      }
    }
  }
  const bare = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");
  return [...keys.values()].map((column) => {
    const field = known.get(column.title.trim()) ?? [...known.values()].find(({ name }) => bare(name) === bare(column.title));
    if (field) return { ...column, name: field.name, type: field.type, targetClass: field.targetClass, isNew: false, isUsed: true };
    const name = fieldName(column.title);
    const guessed = kind === "csv" ? { type: guess(column.samples) } : ofValues(column.samples);
    // Relations are imported with their members instead, and names that begin with _ are the server's.
    const isUsed = mayAdd && name !== "" && !column.title.startsWith("_") && guessed.type !== "Relation" && !(isServerClass(className) && column.title === "sessionToken");
    return { ...column, name, ...guessed, isNew: true, isUsed };
  });
}

function fieldName(title) {
  if (FORBIDDEN.has(title)) return "";
  const words = title.normalize("NFD").replace(/\p{M}/gu, "").split(/[^A-Za-z0-9_]+/).filter(Boolean);
  const name = words.map((word, index) => (index === 0 ? word[0].toLowerCase() + word.slice(1) : word[0].toUpperCase() + word.slice(1))).join("");
  return name.replace(/^[^A-Za-z]+/, "").slice(0, 60);
}

const fits = {
  Number: (text) => parseNumber(text) !== undefined && !losesDigits(text) && !/^[+-]?0\d/.test(text),
  Boolean: (text) => /^(true|false)$/i.test(text),
  Date: (text) => /^\d{4}-\d{2}-\d{2}/.test(text) && parseDate(text) !== undefined,
};

/** Infers the type that nearly all texts have. */
function guess(samples) {
  const texts = samples.filter((text) => text !== null && text.trim() !== "").map((text) => text.trim());
  if (texts.length === 0) return "String";
  for (const [type, test] of Object.entries(fits)) if (texts.filter(test).length >= texts.length * 0.9) return type;
  return "String";
}

function ofValues(samples) {
  const value = samples.find((sample) => sample !== null);
  const type = typeOf(value) ?? "String";
  return { type, targetClass: type === "Pointer" ? value.className : undefined };
}

/** Parses a text as a value of a column. Returns undefined if empty, and throws an error with a message. */
export function valueOf(text, column, isGuarded = false) {
  if (text === null) return undefined;
  const cell = isGuarded ? unguarded(text) : text;
  const field = { name: column.name, type: column.type, targetClass: column.targetClass };
  const trimmed = cell.trim();
  if (column.type !== "String" && trimmed === "") return undefined;
  if (column.name === "objectId") return trimmed || undefined;
  switch (column.type) {
    case "Number":
      if (losesDigits(trimmed)) throw new Error(t("edit.digits", { text: plain(trimmed, 40) }));
      return fromText(cell, field);
    case "File": if (!trimmed.startsWith("{")) return { __type: "File", name: trimmed }; break;
    case "Bytes": if (!trimmed.startsWith("{")) return { __type: "Bytes", base64: trimmed }; break;
    case "Date": {
      const value = fromText(cell, field);
      return OWN.has(column.name) ? value.iso : value;
    }
    default:
  }
  return fromText(cell, field);
}

/** Returns the number of samples of a column that aren't values of its type, and the first of them. */
export function doubts(column, isGuarded) {
  const odd = column.samples.filter((sample) => {
    if (typeof sample !== "string") return false;
    try {
      valueOf(sample, column, isGuarded);
      return false;
    } catch {
      return true;
    }
  });
  return { n: odd.length, first: odd[0] };
}

/** Creates the object of a record. Throws an error with a message. */
export function objectOf(record, columns, width, isGuarded) {
  const object = {};
  if (record.cells) {
    if (record.cells.length !== width) throw new Error(t("import.width", { n: record.cells.length, wanted: width }));
    for (const column of columns) {
      const value = valueOf(record.cells[column.key], column, isGuarded);
      if (value !== undefined) setOwn(object, column.name, value);
    }
    return object;
  }
  const source = JSON.parse(record.text);
  refuseKeys(source);
  for (const column of columns) {
    if (!Object.hasOwn(source, column.key)) continue;
    const value = source[column.key];
    // Other programs export dates as plain texts.
    const isPlainDate = column.type === "Date" && typeof value === "string" && !OWN.has(column.name);
    setOwn(object, column.name, isPlainDate ? valueOf(value, column) : value);
  }
  return object;
}

/**
 * Replaces names in pointers with ids. Returns the rows without those for which it calls `refuse`. Ids of missing objects stay, because
 * these may be imported later; `known` keeps the ids by class and text between calls.
 */
export async function withIds(rows, columns, known, refuse) {
  let left = rows;
  for (const { name, targetClass } of columns.filter(({ type }) => type === "Pointer")) {
    const field = namingField(targetClass);
    const key = (text) => targetClass + "\n" + text;
    const texts = [...new Set(rows.map(({ object }) => object[name]?.objectId))].filter((text) => text && !known.has(key(text)));
    for (let from = 0; from < texts.length; from += 100) {
      const some = texts.slice(from, from + 100);
      const { body } = await parse.get(objectPath(targetClass), { where: { $or: ["objectId", field].filter(Boolean).map((way) => ({ [way]: { $in: some } })) }, keys: field ?? "objectId", limit: 1000 });
      for (const text of some) {
        const [same, named] = ["objectId", field].map((way) => body.results.filter((object) => object[way] === text));
        known.set(key(text), same.length ? same : named);
      }
    }
    left = left.filter((row) => {
      const found = row.object[name] && known.get(key(row.object[name].objectId));
      if (!found || (found.length === 0 && /^[A-Za-z0-9]{10,}$/.test(row.object[name].objectId))) return true;
      if (found.length === 1) row.object[name].objectId = found[0].objectId;
      else refuse(row, t(found.length ? "import.several" : "pointer.unknown", { class: targetClass, text: plain(row.object[name].objectId, 40) }));
      return found.length === 1;
    });
  }
  return left;
}

function refuseKeys(value) {
  if (value === null || typeof value !== "object") return;
  for (const [key, member] of Object.entries(value)) {
    if (FORBIDDEN.has(key)) throw new Error(t("import.badKey", { key }));
    refuseKeys(member);
  }
}

/** Returns the problem with the choice of fields, or undefined if there is none. */
export function problemOf(columns, className) {
  const seen = new Set();
  for (const { name } of columns) {
    if (seen.has(name)) return t("import.twice", { field: name });
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || FORBIDDEN.has(name)) return t("import.badKey", { key: name });
    seen.add(name);
  }
  const needed = [...targets(className).values()].find(({ name, required, defaultValue }) => required && defaultValue === undefined && !seen.has(name));
  return needed && t("import.needed", { field: needed.name });
}
