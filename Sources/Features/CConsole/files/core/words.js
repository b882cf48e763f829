/** Formats texts: the console's own by key, untrusted ones safely, numbers and dates. */

import { h } from "./dom.js";

const plural = new Intl.PluralRules("en");

/** `{name}` is a placeholder, and `{n|object|objects}` selects by number. */
const words = new Map(Object.entries({
  "error.status": "The server sent {status}.", "error.lost": "The connection to the server was lost.", "error.code": "Code {code}", "error.request": "Request {id}",
  "error.copy": "Copy", "error.again": "Try again", "error.failed": "This failed", "error.notAllowed": "No access",
  "error.notAllowedHint": "Your role is {role}.", "error.only": "For developers and owners.", "net.down": "The server doesn't respond. Retrying…", "app.title": "Console",
  "app.skip": "Skip to content", "rail.label": "Pages", "rail.of.data": "Data", "rail.of.app": "App", "rail.of.server": "Server", "rail.data": "Data",
  "rail.schema": "Schema", "rail.access": "Permissions", "rail.users": "Users", "rail.files": "Files", "rail.start": "Start", "rail.config": "Config",
  "rail.performance": "Performance", "rail.logs": "Logs", "rail.cloud": "Cloud code", "rail.push": "Push", "rail.rest": "API", "rail.live": "Live",
  "rail.health": "Health", "rail.settings": "Settings", "rail.trash": "Trash", "rail.audit": "Audit", "rail.find": "Find", "rail.more": "More",
  "rail.operators": "Operators", "rail.account": "My account", "rail.signOut": "Sign out", "theme.auto": "System", "theme.light": "Light", "theme.dark": "Dark",
  "role.owner": "Owner", "role.developer": "Developer", "role.editor": "Editor", "role.viewer": "Viewer", "keys.title": "Keys", "keys.everywhere": "Everywhere",
  "keys.palette": "Find a page, a class, a name or an id", "keys.list": "This list", "keys.undo": "Undo the last change", "keys.go": "Go to {page}",
  "word.deleted": "{name} deleted", "word.shorter": "Try a shorter text.", "word.andMore": "and {n} more", "word.failed": "Failed", "word.params": "Parameters (JSON)",
  "word.choose": "Choose a file", "word.ended": "Session ended", "word.sendMail": "Send email", "word.addField": "Add field",
  "word.pointsTo": "Points to", "word.required": "Required", "word.delete": "Delete …", "word.objects": "Objects", "word.created": "Created",
  "word.follow": "Follow", "word.pause": "Pause", "word.who": "Who", "word.p50": "p50", "word.p99": "p99", "word.by": "By", "word.address": "Address",
  "word.nothingYet": "nothing yet",
  "form.discard": "Discard “{title}”?", "form.lost": "Your entries are not saved.", "form.sure": "Discard", "close": "Close", "word.allClasses": "All classes", "word.all": "all", "word.change": "Change", "word.class": "Class", "word.clear": "Clear",
  "word.copy": "Copy address", "word.copied": "Copied", "word.download": "Download", "word.fillIn": "Fill in this field.", "word.end": "End", "word.error": "Error",
  "word.field": "Field", "word.fields": "Fields", "word.history": "History", "word.json": "JSON", "word.text": "Text", "word.more": "{n} more", "word.showMore": "Show more", "word.name": "Name",
  "word.newPassword": "New password", "word.nobodyName": "someone not signed in", "word.open": "Open", "word.password": "Password", "word.perSecond": "a second",
  "word.percent": "{percent}%", "word.plan": "Plan", "word.requests": "Requests", "word.rows": "Rows", "word.selected": "{n} selected", "word.send": "Send",
  "word.state": "State", "word.stop": "Stop", "word.ofClass": "Of class", "word.signIn": "Sign in", "word.inspector": "Inspector", "word.type": "Type",
  "word.value": "Value", "word.warning": "Warning", "word.when": "When", "word.why": "Why", "cancel": "Cancel", "save": "Save", "delete": "Delete", "undo": "Undo",
  "undo.none": "{what}: you can't undo this.", "classes.label": "Classes", "classes.find": "Find a class", "classes.new": "New class",
  "classes.none": "No class has that name.", "classes.missing": "There is no class {class}", "page.missing": "There is no page {page}", "page.check": "Check the address.", "classes.choose": "Choose a class",
  "classes.chooseHint": "Classes hold the objects of your app. Choose one in the list.", "classes.connect": "Connect an app", "classes.empty": "No classes yet",
  "classes.emptyHint": "Classes hold the objects of your app. Create the first one.", "grid.objects": "{n} {n|object|objects}",
  "grid.new": "New object", "grid.newField": "New field", "grid.columns": "Columns", "grid.refresh": "Refresh", "grid.changedRows": "{n} changed", "grid.goneRows": "{n} deleted", "grid.more": "More actions",
  "grid.empty": "No objects yet", "grid.emptyHint": "Apps create objects by saving them. They can also be created here.", "grid.nothing": "Nothing matches the filter",
  "grid.nothingHint": "Remove a condition to see more.", "grid.clearFilter": "Remove the filter", "filter.add": "Filter",
  "grid.label": "Objects of {class}", "grid.select": "Select row {n}", "grid.local": "local", "grid.utc": "UTC", "cell.gone": "the object is gone",
  "cell.items": "{n} {n|item|items}", "cell.keys": "{n} {n|key|keys}", "cell.points": "{n} {n|point|points}", "cell.characters": "{n} {n|character|characters}",
  "cell.aclNone": "No ACL: the class decides", "cell.aclMaster": "Only the master key", "cell.everybody": "everybody", "cell.reads": "{who}: read",
  "cell.changes": "{who}: read, change", "cell.writes": "{who}: change", "cell.role": "role {name}", "cell.user": "user {id}", "cell.more": "+{n}",
  "cell.members": "show members",
}));

/** Adds the texts of a module that is loaded later. */
export function addWords(table) {
  for (const [key, text] of Object.entries(table)) words.set(key, text);
}

/** Characters written from right to left. */
const LEFTWARD = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

class Said {
  constructor(text) { this.text = text; }
}

/** Marks a text as the console's own, so that `t` inserts it without escaping. */
export const said = (text) => new Said(text);

/** Returns the text of a key with its placeholders filled in. Untrusted texts are escaped, and isolated if necessary. */
export function t(key, places = {}) {
  const text = words.get(key);
  if (text === undefined) return key;
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, other) => {
    const value = places[name];
    if (one !== undefined) return plural.select(Number(value)) === "one" ? one : other;
    if (typeof value === "number") return count(value);
    if (value instanceof Said) return value.text;
    const safe = plain(value ?? "");
    return LEFTWARD.test(safe) ? `\u2068${safe}\u2069` : safe;
  });
}

// Control and direction characters, invisible characters, lone surrogates and stacks of combining marks, but not emoji joiners.
const UNSAFE = new RegExp([
  String.raw`[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{DI}\u2800]--[\u200d\ufe0f]]`,
  String.raw`(?<![\p{Extended_Pictographic}\ufe0f])\u200d|\u200d(?!\p{Extended_Pictographic})|(?<!\p{Emoji})\ufe0f`,
  String.raw`\p{M}{5,}`,
].join("|"), "gv");

const NAMES = new Map([["\n", "\u23ce"], ["\t", "\u21e5"], ["\r", "\\r"]]);

function escape(match) {
  const name = NAMES.get(match);
  if (name) return name;
  if (match.length > 4) return `\\u${match.codePointAt(0).toString(16).padStart(4, "0")}\u00d7${[...match].length}`;
  const point = match.codePointAt(0);
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`;
}

/** Returns at most `limit` characters without splitting a surrogate pair. */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text[limit - 1]) ? limit - 1 : limit;
  return text.slice(0, end);
}

/** Escapes an untrusted text for plain-text contexts such as titles and labels. */
export function plain(text, limit = 120) {
  const all = String(text);
  const short = cut(all, limit).replace(UNSAFE, escape);
  return all.length > limit ? short + "\u2026" : short;
}

/** Creates an element with an untrusted text, isolated from its surroundings, with escapes highlighted. */
export function shown(text, limit = 200) {
  const all = String(text);
  const element = h("bdi.text");
  if (all === "") return drawnApart("empty");
  if (all.length < 10000 && /^ +$/.test(all)) return drawnApart(all.length === 1 ? "1 space" : `${all.length} spaces`);
  const short = cut(all, limit);
  let from = 0;
  for (const match of short.matchAll(UNSAFE)) {
    if (match.index > from) element.append(short.slice(from, match.index));
    element.append(h("i.escape", escape(match[0])));
    from = match.index + match[0].length;
  }
  element.append(short.slice(from));
  if (all.length > limit) element.append(h("i.escape", "\u2026"));
  return element;
}

/** Creates a placeholder for a value, such as "empty" or "null". */
export function drawnApart(word) {
  return h("i.apart", word);
}

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export const count = (value) => whole.format(value);

/** Formats a Parse number exactly, with separators unless they could mislead. */
export function number(value) {
  if (Object.is(value, -0)) return "-0";
  return Number.isSafeInteger(value) && Math.abs(value) < 1e15 ? whole.format(value) : String(value);
}

export function bytes(value) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${short.format(value)} ${value === 1 && !unit ? "byte" : units[unit]}`;
}

const two = (value) => String(value).padStart(2, "0");

/** The time zone of dates: UTC or the browser's. */
export const zone = {
  get isUTC() { return localStorage.getItem("roost.zone") === "utc"; },
  set isUTC(value) { localStorage.setItem("roost.zone", value ? "utc" : "local"); },
};

/** Formats a date, to the minute or the millisecond. */
export function date(iso, isExact = false) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return plain(iso);
  const utc = zone.isUTC;
  const part = (name) => at[(utc ? "getUTC" : "get") + name]();
  let text = `${String(part("FullYear")).padStart(4, "0")}-${two(part("Month") + 1)}-${two(part("Date"))} ${two(part("Hours"))}:${two(part("Minutes"))}`;
  if (isExact) text += `:${two(part("Seconds"))}.${String(part("Milliseconds")).padStart(3, "0")}${utc ? " UTC" : ""}`;
  return text;
}

/** Formats the time since a date. */
export function ago(iso) {
  const seconds = Math.round((Date.now() - new Date(iso)) / 1000);
  const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  for (const [unit, length] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= length) return relative.format(-Math.round(seconds / length), unit);
  }
  return relative.format(-seconds, "second");
}
