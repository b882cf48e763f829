/**
 * Converts filters between sentences and the `where` of the REST API. A filter is a list of groups, all of which must hold. A group is a
 * list of conditions, one of which must hold. Anything that sentences can't express stays JSON: `{ json }`.
 */

import { addWords, plain, said, t } from "../../core/words.js";
import { nameOf, typeOf } from "../schema.js";
import { asText, inWords, isEqual, setOwn } from "../values.js";

const ORDERED = ["$eq", "$ne", "$gte", "$lte", "$gt", "$lt", "$in", "$exists", "$missing"];

/** The operators of each type, most common first. */
export const OPERATORS = new Map(Object.entries({
  String: ["contains", "starts", "ends", "$eq", "$ne", "$in", "$exists", "$missing"],
  Number: ["$eq", "$ne", "$gte", "$lte", "$gt", "$lt", "$in", "$exists", "$missing"],
  Date: ["$gte", "$lt", "$gt", "$lte", "$exists", "$missing"],
  Boolean: ["$eq", "$ne", "$exists", "$missing"],
  Pointer: ["$eq", "$ne", "whose", "$exists", "$missing"],
  Relation: ["has"],
  Array: ["has", "$all", "$exists", "$missing"],
  GeoPoint: ["near", "$exists", "$missing"],
  Object: ["$exists", "$missing"],
  File: ["$exists", "$missing"],
  Polygon: ["$exists", "$missing"],
  Bytes: ["$exists", "$missing"],
}));

const quoted = (text) => `\\Q${text.replaceAll("\\E", "\\E\\\\E\\Q")}\\E`;

/** Returns the literal text of a pattern, or undefined for other patterns. */
function unquoted(pattern) {
  const inner = pattern.replaceAll("\\E\\\\E\\Q", "\u0000");
  const match = /^\\Q([^]*)\\E$/.exec(inner);
  if (!match || match[1].includes("\\E")) return undefined;
  return match[1].replaceAll("\u0000", "\\E");
}

/** Returns the constraint of a condition, for use below the name of its field. */
function constraint({ operator, value }) {
  switch (operator) {
    case "contains": return { $regex: quoted(value), $options: "i" };
    case "starts": return { $regex: "^" + quoted(value) };
    case "ends": return { $regex: quoted(value) + "$" };
    case "$eq": case "has": return value;
    case "$exists": return { $exists: true };
    case "$missing": return { $exists: false };
    case "near": return { $nearSphere: value.point, $maxDistanceInKilometers: value.kilometers };
    case "whose": return { $inQuery: { className: value.className, where: toWhere(value.groups) } };
    default: return { [operator]: value };
  }
}

export function toWhere(groups) {
  const parts = groups.map((group) => {
    if (group.json) return group.json;
    const alternatives = group.map((condition) => setOwn({}, condition.field, constraint(condition)));
    return alternatives.length === 1 ? alternatives[0] : { $or: alternatives };
  });
  return parts.reduce(merge, {});
}

/** Combines two conditions in one object if no key is in conflict. */
function merge(left, right) {
  const result = Object.fromEntries(Object.entries(left));
  const rest = {};
  for (const [key, value] of Object.entries(right)) {
    if (key === "$and") rest.$and = value;
    else if (!Object.hasOwn(result, key)) setOwn(result, key, value);
    else if (canJoin(result[key], value)) setOwn(result, key, { ...result[key], ...value });
    else setOwn(rest, key, value);
  }
  if (Object.keys(rest).length === 0) return result;
  const others = rest.$and ?? [rest];
  return { ...result, $and: [...(result.$and ?? []), ...others] };
}

const isOperators = (value) => typeOf(value) === "Object" && Object.keys(value).length > 0 && Object.keys(value).every((key) => key.startsWith("$"));

function canJoin(left, right) {
  if (!isOperators(left) || !isOperators(right)) return false;
  const keys = Object.keys(right);
  const isPattern = (value) => Object.hasOwn(value, "$regex") || Object.hasOwn(value, "$nearSphere");
  return !isPattern(left) && !isPattern(right) && keys.every((key) => !Object.hasOwn(left, key));
}

/** Returns the filter of a `where`. Conditions on fields that `fieldOf(name)` doesn't know stay JSON. */
export function fromWhere(where, fieldOf) {
  const groups = [];
  for (const [key, value] of Object.entries(where)) {
    if (key === "$and" && Array.isArray(value) && value.every((part) => typeOf(part) === "Object")) {
      for (const part of value) groups.push(...fromWhere(part, fieldOf));
    } else if (key === "$or" && Array.isArray(value)) groups.push(alternatives(value, fieldOf));
    else groups.push(...conditions(key, value, fieldOf));
  }
  return groups;
}

function alternatives(list, fieldOf) {
  const group = [];
  for (const part of list) {
    const inner = typeOf(part) === "Object" ? fromWhere(part, fieldOf) : [];
    if (inner.length !== 1 || inner[0].json || inner[0].length !== 1) return { json: { $or: list } };
    group.push(inner[0][0]);
  }
  return group.length > 0 ? group : { json: { $or: list } };
}

function conditions(name, value, fieldOf) {
  const json = [{ json: setOwn({}, name, value) }];
  const field = fieldOf(name);
  const operators = OPERATORS.get(field?.type);
  if (name.startsWith("$") || !operators) return json;
  const single = (operator, operand) => [{ field: name, operator, value: operand }];
  if (!isOperators(value)) {
    const operator = operators.includes("$eq") ? "$eq" : "has";
    return operators.includes(operator) && value !== null ? [single(operator, value)] : json;
  }
  const keys = Object.keys(value);
  if (Object.hasOwn(value, "$regex")) {
    const found = pattern(value);
    return found && operators.includes("contains") ? [single(...found)] : json;
  }
  if (Object.hasOwn(value, "$nearSphere")) {
    const isPlain = keys.length === 2 && typeof value.$maxDistanceInKilometers === "number" && operators.includes("near");
    return isPlain ? [single("near", { point: value.$nearSphere, kilometers: value.$maxDistanceInKilometers })] : json;
  }
  if (Object.hasOwn(value, "$inQuery")) {
    const query = value.$inQuery;
    const isPlain = keys.length === 1 && operators.includes("whose") && isEqual(Object.keys(query).toSorted(), ["className", "where"]) && query.className === field.targetClass;
    return isPlain ? [single("whose", { className: query.className, groups: fromWhere(query.where, (inner) => fieldOf(inner, query.className)) })] : json;
  }
  const read = keys.map((key) => {
    if (key === "$exists") return typeof value.$exists === "boolean" ? single(value.$exists ? "$exists" : "$missing") : undefined;
    return ORDERED.includes(key) && operators.includes(key) && key !== "$eq" || (key === "$all" && operators.includes("$all")) ? single(key, value[key]) : undefined;
  });
  return read.every(Boolean) ? read : json;
}

function pattern(value) {
  const keys = Object.keys(value);
  const text = value.$regex;
  if (typeof text !== "string") return undefined;
  if (keys.length === 2 && value.$options === "i" && unquoted(text) !== undefined) return ["contains", unquoted(text)];
  if (keys.length !== 1) return undefined;
  if (text.startsWith("^") && unquoted(text.slice(1)) !== undefined) return ["starts", unquoted(text.slice(1))];
  if (text.endsWith("$") && unquoted(text.slice(0, -1)) !== undefined) return ["ends", unquoted(text.slice(0, -1))];
  return undefined;
}

/** Returns the name of an operator for a type. */
export const operatorWord = (operator, type) => (type === "Date" && operator.startsWith("$") && !["$exists", "$missing"].includes(operator)
  ? t("op.date." + operator) : t("op." + operator));

function valueWords(value) {
  if (typeOf(value) === "Pointer") return nameOf(value.className, value.objectId) || value.objectId;
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return inWords(value);
}

export function sentence({ field, operator, value }, type) {
  if (operator === "$exists" || operator === "$missing") return t("filter.bare", { field, operator: operatorWord(operator, type) });
  if (operator === "near") return t("filter.near", { field, kilometers: value.kilometers, point: asText(value.point) });
  if (operator === "whose") return t("filter.whose", { field, inner: said(value.groups.map((group) => groupSentence(group, () => "")).join(` ${t("filter.and")} `)) });
  return t("filter.sentence", { field, operator: operatorWord(operator, type), value: valueWords(value) });
}

/** Returns a group of alternatives as a sentence. */
export function groupSentence(group, typeOfField) {
  if (group.json) return plain(JSON.stringify(group.json));
  return group.map((condition) => sentence(condition, typeOfField(condition.field))).join(` ${t("filter.or")} `);
}

addWords({
  "filter.where": "where", "filter.and": "and", "filter.or": "or", "filter.sentences": "Sentences", "filter.remove": "Remove this condition",
  "filter.edit": "Change this condition", "filter.operator": "Condition", "filter.kilometers": "Kilometers", "filter.apply": "Apply", "filter.addOr": "Or…",
  "filter.invalid": "This is not a JSON object: {reason}", "filter.save": "Save view", "filter.slow": "“contains” and “ends with” read every row.",
  "filter.listHint": "separated by commas", "filter.jsonLabel": "Filter as JSON", "op.contains": "contains", "op.starts": "starts with", "op.ends": "ends with",
  "op.$eq": "is", "op.$ne": "is not", "op.$in": "is one of", "op.$gte": "at least", "op.$lte": "at most", "op.$gt": "more than", "op.$lt": "less than",
  "op.$exists": "is set", "op.$missing": "is not set", "op.has": "has", "op.$all": "has all of", "op.near": "near", "op.whose": "whose", "op.date.$gte": "from",
  "op.date.$lt": "before", "op.date.$gt": "after", "op.date.$lte": "until", "filter.near": "{field} within {kilometers} km of {point}",
  "filter.whose": "{field} whose {inner}", "filter.sentence": "{field} {operator} {value}", "filter.bare": "{field} {operator}", "view.title": "Save this view",
  "view.shared": "Share with all operators", "view.saved": "View {name} saved", "view.delete": "Delete view", "view.deleted": "View {name} deleted",
  "view.text": "Saves filter, order and columns under this name.",
});
