/** Conditions in words. */

import { t } from "../../core/words.js";
import { nameOf } from "../names.js";
import { typeOf } from "../types.js";
import { asText, inWords } from "../values.js";
import "./words.js";

/** The word of an operator for a type. */
export const operatorWord = (operator, type) => (type === "Date" && operator.startsWith("$") && !["$exists", "$missing"].includes(operator)
  ? t("op.date." + operator) : t("op." + operator));

function valueWords(value) {
  if (typeOf(value) === "Pointer") return nameOf(value.className, value.objectId) || value.objectId;
  if (Array.isArray(value)) return value.map(valueWords).join(", ");
  return inWords(value);
}

/** One condition as a sentence. */
export function sentence({ field, operator, value }, type) {
  if (operator === "$exists" || operator === "$missing") return t("filter.bare", { field, operator: operatorWord(operator, type) });
  if (operator === "near") return t("filter.near", { field, kilometers: value.kilometers, point: asText(value.point) });
  if (operator === "whose") return t("filter.whose", { field, inner: value.groups.map((group) => groupSentence(group, () => "")).join(` ${t("filter.and")} `) });
  return t("filter.sentence", { field, operator: operatorWord(operator, type), value: valueWords(value) });
}

/** A group of alternatives as a sentence. */
export function groupSentence(group, typeOfField) {
  if (group.json) return JSON.stringify(group.json);
  return group.map((condition) => sentence(condition, typeOfField(condition.field))).join(` ${t("filter.or")} `);
}
