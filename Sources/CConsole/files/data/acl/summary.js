/** An ACL in a few words. */

import { t } from "../../core/words.js";
import { nameOf } from "../names.js";

/** Who somebody in an ACL is, in words. */
export function who(key) {
  if (key === "*") return t("cell.everybody");
  if (key.startsWith("role:")) return t("cell.role", { name: key.slice(5) });
  return nameOf("_User", key) || t("cell.user", { id: key });
}

/** What one entry of an ACL allows, in words; undefined for nothing. */
export function sentence(key, rights) {
  const read = rights?.read === true;
  const write = rights?.write === true;
  if (!read && !write) return undefined;
  return t(read && write ? "cell.changes" : read ? "cell.reads" : "cell.writes", { who: who(key) });
}

/** `{ text, isOpen }`: what an ACL says, and whether everybody may change the object. */
export function summary(acl) {
  if (acl === undefined || acl === null) return { text: t("cell.aclNone"), isOpen: true };
  const entries = Object.entries(acl).map(([key, rights]) => [key, sentence(key, rights)]).filter(([, text]) => text)
    .sort(([left], [right]) => Number(right === "*") - Number(left === "*"));
  if (entries.length === 0) return { text: t("cell.aclMaster"), isOpen: false };
  const more = entries.length - 2;
  const text = entries.slice(0, 2).map(([, words]) => words).join("; ") + (more > 0 ? " " + t("cell.more", { n: more }) : "");
  return { text, isOpen: Object.hasOwn(acl, "*") && acl["*"]?.write === true };
}
