/** A list that renders only visible lines, the row of a log line, and its details. */

import { button, h, icon, put } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { session } from "../../core/session.js";
import { addWords, cut, date, plain, shown, t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";
import { copyButton } from "../../parts/states.js";

addWords({
  "line.title": "A line of the log", "line.request": "All lines of this request", "line.function": "All lines of {name}",
  "line.object": "Open the object", "line.info": "Info", "line.other": "Other",
});

/** The number of rows drawn above and below the visible ones. */
const MARGIN = 12;

/** Creates a list: `draw(item)` returns the content of a row, `open(item)` is called for a chosen one. */
export function lineList({ label, draw, open, moved }) {
  const body = h(".log-body", { role: "presentation" });
  const element = h(".log", { role: "listbox", tabIndex: 0, "aria-label": label, onscroll: () => later(), onkeydown: (event) => press(event) }, body);
  const row = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 32;
  let items = [];
  let active = -1;
  let planned = 0;
  const isAtEnd = () => element.scrollTop + element.clientHeight >= items.length * row() - 4;
  const later = () => {
    planned ||= requestAnimationFrame(() => {
      planned = 0;
      redraw();
      moved?.(isAtEnd());
    });
  };
  function redraw() {
    const height = row();
    const first = Math.max(0, Math.floor(element.scrollTop / height) - MARGIN);
    const last = Math.min(items.length, Math.ceil((element.scrollTop + element.clientHeight) / height) + MARGIN);
    body.style.height = `${items.length * height}px`;
    put(body, items.slice(first, last).map((item, index) => {
      const place = first + index;
      return h(".log-row", {
        role: "option", id: `log-${place}`, "aria-selected": String(place === active), "aria-posinset": String(place + 1), "aria-setsize": String(items.length),
        style: { transform: `translateY(${place * height}px)` }, onclick: () => { active = place; redraw(); open(item); },
      }, draw(item));
    }));
    if (active >= 0) element.setAttribute("aria-activedescendant", `log-${active}`);
    else element.removeAttribute("aria-activedescendant");
  }
  function press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -items.length, End: items.length };
    if (event.key === "Enter" && items[active]) open(items[active]);
    else if (!(event.key in steps) || items.length === 0 || event.ctrlKey || event.metaKey) return;
    else {
      const from = active < 0 ? (steps[event.key] < 0 ? items.length : -1) : active;
      active = Math.min(items.length - 1, Math.max(0, from + steps[event.key]));
      const height = row();
      element.scrollTop = Math.min(active * height, Math.max(element.scrollTop, (active + 1) * height - element.clientHeight));
      redraw();
    }
    event.preventDefault();
  }
  return {
    element, isAtEnd,
    /** Shows items; `before` is the number of items added at the front, or removed there if negative. */
    show(next, { before = 0, toEnd = false } = {}) {
      items = next;
      if (active >= 0) active = Math.min(items.length - 1, Math.max(-1, active + before));
      body.style.height = `${items.length * row()}px`;
      if (toEnd) element.scrollTop = items.length * row();
      else if (before) element.scrollTop += before * row();
      redraw();
    },
    toEnd() {
      element.scrollTop = items.length * row();
      later();
    },
  };
}

const levelMark = (level) => h("span", { class: `level ${level === "error" ? "bad" : level === "warn" ? "warn" : "quiet"}` },
  t(level === "error" ? "word.error" : level === "warn" ? "word.warning" : level === "info" ? "line.info" : "line.other"));

const text = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "");

/** Returns the elements of a line's row: its time, level and message. */
export function lineRow({ at, level, message, fields }) {
  const exact = date(at, true);
  const isToday = exact.slice(0, 10) === date(new Date().toISOString()).slice(0, 10);
  const time = h("time.quiet.mono", { title: exact }, isToday ? exact.slice(11, 23) : exact.slice(5, 19));
  const known = new Map(Object.entries(fields));
  if (message === "request" && known.has("method")) {
    const status = known.get("status");
    return [time, levelMark(level), h("span.log-text", h("b.mono", plain(text(known.get("method")), 10)), " ", shown(text(known.get("path") ?? ""), 300), " ",
      h("span", { class: status >= 500 ? "bad" : status >= 400 ? "warn" : "quiet" }, plain(text(status ?? "\u2013"), 5)),
      h("span.quiet", known.has("code") && [" \u00b7 ", t("error.code", { code: text(known.get("code")) })], ` \u00b7 ${plain(text(known.get("ms") ?? ""), 12)} ms`))];
  }
  const rest = [...known].filter(([name]) => name !== "id").map(([name, value]) => `${name}=${cut(text(value), 200)}`).join(" ");
  return [time, levelMark(level), h("span.log-text", shown(text(message), 300), rest && [" ", h("bdi.quiet", plain(rest, 300))])];
}

/** Returns the object in a path as `[class, id]`. */
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
      copyButton(JSON.stringify(line, null, 2)));
    return {
      body: [h(".line", levelMark(line.level), h("time.mono", date(line.at, true))), h("p.mono.wrap", shown(text(line.message), 5000)), actions,
        h("table.list", h("tbody", fields.map(([key, value]) => h("tr", h("th", { scope: "row" }, shown(key, 60)), h("td.mono.wrap", shown(text(value), 5000))))))],
    };
  });
}
