/** All words of the first screen, by key. `{name}` is a place, `{n|object|objects}` chooses by a number. */

import { plain } from "./text.js";
import { count } from "./format.js";

const plural = new Intl.PluralRules("en");

const words = new Map(Object.entries({
  "error.status": "The server answered {status}.",
  "error.lost": "The connection to the server was lost.",
  "error.code": "Code {code}",
  "error.request": "Request {id}",
  "error.copy": "Copy",
  "error.again": "Try again",
  "error.failed": "This did not work",
  "error.notAllowed": "You may not see this",
  "error.notAllowedHint": "Your role is {role}. An owner of this server can let you in.",
  "net.down": "The server does not answer. Trying again…",
  "app.title": "Console",
  "app.skip": "Skip to content",
  "app.thisMachine": "Everybody on this machine may do everything here.",
  "rail.label": "Pages",
  "rail.data": "Data",
  "rail.trash": "Trash",
  "rail.find": "Find",
  "rail.keys": "Keys",
  "rail.more": "More",
  "rail.signOut": "Sign out",
  "rail.theme": "Appearance",
  "theme.auto": "As the system",
  "theme.light": "Light",
  "theme.dark": "Dark",
  "role.owner": "Owner",
  "role.developer": "Developer",
  "role.editor": "Editor",
  "role.viewer": "Viewer",
  "keys.title": "Keys",
  "keys.everywhere": "Everywhere",
  "keys.palette": "Find a page, a class or an id",
  "keys.list": "This list",
  "keys.undo": "Undo the last change",
  "keys.find": "Find a class",
  "keys.goData": "Go to Data",
  "keys.goTrash": "Go to Trash",
  "close": "Close",
  "cancel": "Cancel",
  "undo": "Undo",
  "classes.label": "Classes",
  "classes.find": "Find a class",
  "classes.server": "Server",
  "classes.new": "New class",
  "classes.none": "No class is called like that.",
  "classes.choose": "Choose a class",
  "classes.chooseHint": "Classes hold the objects of your app. Choose one to see its rows.",
  "classes.empty": "No class yet",
  "classes.emptyHint": "A class is made by the first object that an app saves, or here.",
  "grid.objects": "{n} {n|object|objects}",
  "grid.new": "New object",
  "grid.newField": "New field",
  "grid.columns": "Columns",
  "grid.refresh": "Refresh",
  "grid.more": "More actions",
  "grid.empty": "No object yet",
  "grid.emptyHint": "Apps make objects by saving them. You can also make the first one here.",
  "grid.nothing": "Nothing fits the filter",
  "grid.nothingHint": "No object of {class} has all of these. Take a condition away to see more.",
  "grid.clearFilter": "Remove the filter",
  "filter.add": "Filter",
  "grid.label": "Objects of {class}",
  "grid.select": "Select row {n}",
  "grid.local": "local",
  "grid.utc": "UTC",
  "cell.gone": "the object is gone",
  "cell.items": "{n} {n|item|items}",
  "cell.keys": "{n} {n|key|keys}",
  "cell.points": "{n} {n|point|points}",
  "cell.characters": "{n} {n|character|characters}",
  "cell.aclNone": "Everybody: read, change",
  "cell.aclMaster": "Only the master key",
  "cell.everybody": "everybody",
  "cell.reads": "{who}: read",
  "cell.changes": "{who}: read, change",
  "cell.writes": "{who}: change",
  "cell.role": "role {name}",
  "cell.user": "user {id}",
  "cell.more": "+{n}",
  "cell.members": "members",
}));

/** Adds the words of a part that is loaded later. */
export function addWords(table) {
  for (const [key, text] of Object.entries(table)) words.set(key, text);
}

const isPlain = /^[\x20-\x7e\u2026\u201c\u201d\u2013\u00b7]*$/;

/** The words of a key, with values in their places. Texts from outside are escaped, and isolated where they need it. */
export function t(key, places = {}) {
  const text = words.get(key);
  if (text === undefined) return key;
  return text.replace(/\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g, (_, name, one, other) => {
    const value = places[name];
    if (one !== undefined) return plural.select(Number(value)) === "one" ? one : other;
    if (typeof value === "number") return count(value);
    const safe = plain(value ?? "");
    return isPlain.test(safe) ? safe : `\u2068${safe}\u2069`;
  });
}
