/** A line of the log: as a row, and with all that it says. */

import { button, h, icon, put } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { session } from "../../core/session.js";
import { addWords, cut, date, plain, shown, t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";

addWords({
  "line.title": "A line of the log",
  "line.request": "All lines of this request",
  "line.function": "All lines of {name}",
  "line.object": "Open the object",
  "line.copy": "Copy",
  "line.error": "Error",
  "line.warn": "Warning",
  "line.info": "Info",
  "line.other": "Other",
});

/** What a row says of a level. */
export const levelMark = (level) => h("span", { class: `level ${level === "error" ? "bad" : level === "warn" ? "warn" : "quiet"}` },
  t(level === "error" ? "line.error" : level === "warn" ? "line.warn" : level === "info" ? "line.info" : "line.other"));

/** Text of a value: texts as they are, all else as JSON. */
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "");

/** What one line says, in one row. */
export function lineRow({ at, level, message, fields }) {
  const exact = date(at, true);
  const isToday = exact.slice(0, 10) === date(new Date().toISOString()).slice(0, 10);
  const time = h("time.quiet.mono", { title: exact }, isToday ? exact.slice(11, 23) : exact.slice(5, 19));
  const known = new Map(Object.entries(fields));
  if (message === "request" && known.has("method")) {
    const status = known.get("status");
    return [time, levelMark(level), h("span.log-text", h("b.mono", plain(text(known.get("method")), 10)), " ", shown(text(known.get("path") ?? ""), 300), " ",
      h("span", { class: status >= 500 ? "bad" : status >= 400 ? "warn" : "quiet" }, plain(text(status ?? "\u2013"), 5)), h("span.quiet", ` \u00b7 ${plain(text(known.get("ms") ?? ""), 12)} ms`))];
  }
  const rest = [...known].filter(([name]) => name !== "id").map(([name, value]) => `${name}=${cut(text(value), 200)}`).join(" ");
  return [time, levelMark(level), h("span.log-text", shown(text(message), 300), rest && [" ", h("bdi.quiet", plain(rest, 300))])];
}

/** The object that a path is about: `[class, id]`. */
function objectOf(path) {
  const { mount } = session.peek().server;
  const own = path.startsWith(mount + "/") ? path.slice(mount.length + 1) : path.replace(/^\//, "");
  const parts = own.split("/").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  const named = { users: "_User", roles: "_Role", installations: "_Installation", sessions: "_Session" };
  if (parts[0] === "classes" && parts.length === 3) return [parts[1], parts[2]];
  return Object.hasOwn(named, parts[0]) && parts.length === 2 && parts[1] !== "me" ? [named[parts[0]], parts[1]] : null;
}

/** All that a line says. */
export function openLine(line) {
  const fields = Object.entries(line.fields).sort(([left], [right]) => left.localeCompare(right, "en"));
  openDialog({ title: t("line.title"), kind: "sheet" }, (close) => {
    const to = (page, parts, query) => () => {
      close();
      go(address(page, parts, query));
    };
    const { id, function: name, path, method } = { __proto__: null, ...line.fields };
    const object = typeof path === "string" && method !== "DELETE" ? objectOf(path) : null;
    const actions = h(".line.wrap");
    put(actions,
      typeof id === "string" && button(".button", to("logs", [], { request: id }), icon("filter"), t("line.request")),
      typeof name === "string" && button(".button", to("logs", [], { function: name }), icon("filter"), t("line.function", { name: cut(name, 40) })),
      object && button(".button", to("data", object), icon("data"), t("line.object")),
      button(".button", () => navigator.clipboard?.writeText(JSON.stringify(line, null, 2)), icon("copy"), t("line.copy")));
    return {
      body: [h(".line", levelMark(line.level), h("time.mono", date(line.at, true))), h("p.mono.wrap", shown(text(line.message), 5000)), actions,
        h("table.list", h("tbody", fields.map(([key, value]) => h("tr", h("th", { scope: "row" }, shown(key, 60)), h("td.mono.wrap", shown(text(value), 5000))))))],
    };
  });
}
