/** The log: the latest lines, and new ones as they arrive. Other pages show lines in the same way. */

import { pause, send } from "../../core/api.js";
import { button, debounce, h, icon, option, put, textField } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { session, setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, cut, date, plain, shown, t } from "../../core/words.js";
import { openDialog } from "../../parts/dialog.js";
import { copyButton, empty, failed, loading } from "../../parts/states.js";

addWords({
  "logs.hint": "Lines of the server and of cloud code, without secrets.", "logs.list": "Lines of the log", "logs.level": "Level", "logs.all": "All levels",
  "logs.warn": "Warnings and errors", "logs.error": "Errors", "logs.failed": "Failed requests", "logs.text": "Text in a line", "logs.console": "Console requests",
  "logs.tailHint": "Shows lines as they arrive", "logs.newest": "Jump to the newest", "logs.request": "Request {id}", "logs.function": "Function {name}",
  "logs.memory": "The server keeps no older lines.", "logs.dropped": "{n} {n|line|lines} came too fast to be shown.",
  "logs.cut": "Only the last {n} lines are kept here.", "logs.count": "{n} {n|line|lines}", "logs.empty": "No line matches",
  "logs.emptyHint": "Remove a filter, or wait for the next line.", "logs.keys": "Log", "logs.find": "Find a text",
  "line.title": "A line of the log", "line.request": "All lines of this request", "line.function": "All lines of {name}",
  "line.object": "Open the object", "line.info": "Info", "line.other": "Other",
});

const MOST = 10_000;
const PAUSE = 400;
const FILTERS = ["level", "text", "function", "request", "console"];

/** Whether new lines are displayed as they arrive. */
let follows = true;

export function open(scope) {
  setTitle(t("rail.logs"));
  const filters = () => Object.fromEntries(FILTERS.map((name) => [name, route.peek().query.get(name) ?? ""]));
  // Typing may have ended on a page that was left.
  const set = (change) => scope.aborted || go(address("logs", [], { ...filters(), ...change }), true);
  const text = textField({ type: "search", "aria-label": t("logs.text"), placeholder: t("logs.text"), maxlength: "200", oninput: debounce(250, () => set({ text: text.value })) });
  const level = h("select", { "aria-label": t("logs.level"), onchange: () => set({ level: level.value }) },
    ["", "failed", "warn", "error"].map((value) => option(value, t(value ? "logs." + value : "logs.all"))));
  const tail = button(".button", () => {
    follows = !follows;
    begin();
  }, icon("down"), h("span.words", t("word.follow")));
  tail.title = t("logs.tailHint");
  tail.setAttribute("aria-label", t("word.follow"));
  const own = h("input", { type: "checkbox", onchange: () => set({ console: own.checked ? "true" : "" }) });
  const chips = h(".filters", { hidden: true });
  const host = h(".log-host", loading());
  const foot = h(".log-foot", { role: "status" });
  const next = latest(scope);
  let log;
  const begin = () => {
    tail.setAttribute("aria-pressed", String(follows));
    log = follow(host, foot, filters(), next(), log);
  };
  effect(() => {
    const { page, query } = route();
    if (page !== "logs") return;
    if (document.activeElement !== text) text.value = query.get("text") ?? "";
    level.value = query.get("level") ?? "";
    own.checked = query.get("console") === "true";
    const chosen = [["request", "id"], ["function", "name"]].filter(([name]) => query.get(name));
    chips.hidden = chosen.length === 0;
    put(chips, chosen.map(([name, place]) => h("span.chip", h("button", { disabled: true }, t("logs." + name, { [place]: query.get(name) })),
      h("button", { "aria-label": t("grid.clearFilter"), onclick: () => set({ [name]: "" }) }, icon("close")))));
    log = undefined;
    begin();
  }, scope);
  addKeys(t("logs.keys"), { "/": { words: t("logs.find"), do: () => text.focus() } }, scope);
  return h(".page", h("header.head", h("h1", t("rail.logs")), h("span.quiet.words", t("logs.hint")), h(".space"), tail), h(".filters", h(".narrow", text), h(".narrow", level), h("label.line", own, t("logs.console"))), chips, host, foot);
}

/** Reads matching lines, and continues while following. Returns the lines read, from which a later call can continue. */
function follow(host, foot, filters, scope, known) {
  const log = known ?? { lines: [], places: new Map(), dropped: 0, isCut: false };
  const list = log.list ?? lineList({
    label: t("logs.list"), draw: lineRow, open: openLine,
    moved: (isAtEnd) => { newest.hidden = isAtEnd; },
  });
  const newest = log.newest ?? button(".button.newest", () => list.toEnd(), icon("down"), t("logs.newest"));
  Object.assign(log, { list, newest });
  const words = h("span");
  const draw = (change) => {
    if (log.lines.length === 0) put(host, empty({ picture: "logs", title: t("logs.empty"), text: t("logs.emptyHint") }));
    else if (!list.element.isConnected) put(host, list.element, newest);
    if (log.lines.length) list.show(log.lines, change);
    newest.hidden = list.isAtEnd();
    put(words, [t("logs.count", { n: log.lines.length }), log.dropped && t("logs.dropped", { n: log.dropped }), log.isCut && t("logs.cut", { n: MOST }), t("logs.memory")].filter(Boolean).join(" \u00b7 "));
  };
  const add = (lines) => {
    const wasAtEnd = log.lines.length === 0 || list.isAtEnd();
    log.lines.push(...lines);
    const gone = Math.max(0, log.lines.length - MOST);
    if (gone) {
      log.lines.splice(0, gone);
      log.isCut = true;
    }
    draw({ before: -gone, toEnd: wasAtEnd });
  };
  put(foot, words);
  if (known && !follows) {
    draw();
    return log;
  }
  (async () => {
    try {
      do {
        const isFirst = log.places.size === 0;
        const after = [...log.places].map((place) => place.join(".")).join(",");
        const { body } = await send("GET", "logs", { query: { ...given(filters), after: after || undefined, wait: isFirst ? undefined : 20 }, signal: scope });
        if (scope.aborted) return;
        const [process, number] = body.next.split(".");
        // Another process has its own positions. Lines already received are not repeated.
        const isNew = !log.places.has(process);
        log.places.set(process, number);
        log.dropped += body.dropped;
        if (isNew && !isFirst) {
          log.lines = merged(log.lines, body.lines);
          add([]);
        } else if (isFirst || body.lines.length || body.dropped) add(body.lines);
        if (follows) await pause(scope, PAUSE);
      } while (follows && !scope.aborted);
    } catch (problem) {
      if (!scope.aborted) put(host, failed(problem, () => follow(host, foot, filters, scope, undefined)));
    }
  })();
  return log;
}

const given = (filters) => Object.fromEntries(Object.entries(filters).filter(([, value]) => value));

const same = (line) => JSON.stringify([line.at, line.message, line.fields]);

function merged(left, right) {
  const known = new Set(right.map(same));
  return [...left.filter((line) => !known.has(same(line))), ...right].sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0));
}

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
