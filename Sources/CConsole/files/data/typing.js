/** Which cells take what is typed on them. */

import { mayWrite } from "../core/session.js";
import { isReadOnly } from "./schema.js";

/** Whether what is typed begins an edit of a field; the list of keys and the search come before texts. */
export const takesTyping = (className, field, key) =>
  mayWrite() && !isReadOnly(className, field) && !" ?/".includes(key) && (field.type === "String" || field.type === "Password"
    || (field.type === "Number" && /[\d.+-]/.test(key)) || (field.type === "Date" && /[\dna]/.test(key)) || field.type === "Pointer"
    || (field.type === "GeoPoint" && /[\d.+-]/.test(key)));

