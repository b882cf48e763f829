/** The log: the latest lines, and new ones as they arrive. */

import { pause, send } from "../../core/api.js";
import { button, debounce, h, icon, option, put, textField } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, t } from "../../core/words.js";
import { empty, failed, loading } from "../../parts/states.js";
import { lineList, lineRow, openLine } from "./lines.js";

addWords({
  "logs.hint": "Lines of the server and of cloud code, without secrets.", "logs.list": "Lines of the log", "logs.level": "Level", "logs.all": "All levels",
  "logs.warn": "Warnings and errors", "logs.error": "Errors", "logs.failed": "Failed requests", "logs.text": "Text in a line", "logs.console": "Console requests",
  "logs.tailHint": "Shows lines as they arrive", "logs.newest": "Jump to the newest", "logs.request": "Request {id}", "logs.function": "Function {name}",
  "logs.memory": "The server keeps no older lines.", "logs.dropped": "{n} {n|line|lines} came too fast to be shown.",
  "logs.cut": "Only the last {n} lines are kept here.", "logs.count": "{n} {n|line|lines}", "logs.empty": "No line matches",
  "logs.emptyHint": "Remove a filter, or wait for the next line.", "logs.keys": "Log", "logs.find": "Find a text",
});

const MOST = 10_000;
const PAUSE = 400;
const FILTERS = ["level", "text", "function", "request", "console"];

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
