/** What type a value of Parse is. */

/** The type of a JSON value, in Parse's words; undefined for null and what is not there. */
export function typeOf(value) {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return "Array";
  if (typeof value !== "object") return { string: "String", number: "Number", boolean: "Boolean" }[typeof value];
  const type = Object.hasOwn(value, "__type") ? value.__type : undefined;
  if (type === "Object" && typeof value.className === "string") return "Pointer";
  return typeof type === "string" ? type : "Object";
}

/** Whether the server has cut a value off. */
export const isShortened = (value) => typeOf(value) === "Shortened";
