/** Live queries: the events of a class as they happen, and the connected clients with their subscriptions. */

import { pause as wait, send, untilReachable } from "../../core/api.js";
import { button, h, icon, option, put, textField } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { setTitle } from "../../core/session.js";
import { addWords, ago, cut, date, plain, shown, t } from "../../core/words.js";
import { tree } from "../../data/editors/tree.js";
import { loadClasses, nameOf } from "../../data/schema.js";
import { inWords, isEqual } from "../../data/values.js";
import { keepFocus, openDialog } from "../../parts/dialog.js";
import { empty, failed, loading, table } from "../../parts/states.js";
import { lineList } from "../logs/lines.js";
import { linesLater } from "../settings/index.js";

addWords({
  "live.hint": "Clients of this process, and their subscriptions", "live.off": "Live queries are off", "live.offHint": "Set {option}. See docs/live-queries.md.",
  "live.nobody": "Nobody is connected", "live.nobodyHint": "As soon as a client subscribes, it appears here.",
  "live.figures": "{clients} {clients|client|clients}, {subscriptions} {subscriptions|subscription|subscriptions}", "live.some": "Showing the first {n}.", "live.client": "Client", "live.since": "Since",
  "live.what": "Subscribed to", "live.master": "with the master key", "live.all": "all of {class}", "live.where": "{class} where", "live.user": "as {user}", "live.classes": "By class",
  "live.count": "Subscriptions", "live.silent": "Nothing arrives until you add {class} to liveQuery.classNames.",
});

const PAUSE = 2000;

let follows = true;

let lines;

export function open(scope) {
  setTitle(t("rail.live"));
  const number = h("span.quiet.count");
  const body = h(".scroll", loading());
  const toggle = button(".button", () => {
    follows = !follows;
    toggle.setAttribute("aria-pressed", String(follows));
    if (follows) begin();
  }, icon("refresh"), h("span.words", t("word.follow")));
  toggle.setAttribute("aria-label", t("word.follow"));
  toggle.setAttribute("aria-pressed", String(follows));
  const events = h(".live-events");
  let isRunning = false;
  async function begin() {
    if (isRunning) return;
    isRunning = true;
    try {
      do {
        const { body: live } = await send("GET", "live", { signal: scope });
        if (scope.aborted) return;
        draw(body, number, live);
        if (live.classes?.length > 0 && !events.childElementCount) put(events, eventPanel(live.classes, scope));
        await wait(scope, PAUSE);
      } while (follows && !scope.aborted);
    } catch (problem) {
      if (!scope.aborted) put(body, failed(problem, begin));
    } finally {
      isRunning = false;
    }
  }
  loadClasses();
  begin();
  return h(".page", h("header.head", h("h1", t("rail.live")), number, h("span.quiet.words", t("live.hint")), h(".space"), toggle), events, body);
}

function draw(body, number, { isOn, missing, clients = 0, subscriptions = 0, connections = [], unpublished = [] }) {
  put(number, isOn ? t("live.figures", { clients, subscriptions }) : "");
  if (!isOn || connections.length === 0) {
    put(body, empty({ picture: "live", title: t(isOn ? "live.nobody" : "live.off"), text: t(missing ? "live.offHint" : "live.nobodyHint", { option: missing }), more: missing && (lines ??= linesLater("liveQuery")) }));
    return;
  }
  const byClass = new Map();
  for (const connection of connections) for (const { className } of connection.subscriptions) byClass.set(className, (byClass.get(className) ?? 0) + 1);
  keepFocus(body, () => put(body,
    byClass.size > 0 && h("section.panel", h("h2", t("live.classes")), table(t("live.classes"), [[t("word.class")], [t("live.count"), ".right"]],
      [...byClass].sort(([, left], [, right]) => right - left).map(([name, n]) => [shown(name, 80), String(n)]))),
    table(t("rail.live"), [[t("live.client"), ".mono"], [t("live.what")], [t("word.address"), ".wide.mono"], [t("live.since"), ".wide"]], connections.map((one) => [
      [shown(one.id, 40), one.isMaster && h("div.warn", t("live.master"))],
      [one.subscriptions.length === 0 ? h("span.quiet", t("word.nothingYet")) : one.subscriptions.map((each) => [subscription(each), unpublished.includes(each.className) && h("div.warn", t("live.silent", { class: cut(String(each.className), 60) }))]), one.count > one.subscriptions.length && h("div.quiet", t("word.andMore", { n: one.count - one.subscriptions.length }))],
      shown(one.address, 60), h("time", { title: date(one.since, true) }, ago(one.since))])),
    clients > connections.length && h("p.quiet", t("live.some", { n: connections.length }))));
}

function subscription({ className, where, user }) {
  const text = typeof where === "string" ? where : JSON.stringify(where ?? {});
  const name = cut(String(className), 60);
  return h("div", text === "{}" ? t("live.all", { class: name }) : [t("live.where", { class: name }), " ", h("span.mono", shown(text, 300))], user && h("span.quiet", " \u00b7 ", t("live.user", { user: nameOf("_User", String(user)) || cut(String(user), 40) })));
}

addWords({
  "events.title": "Events", "events.where": "Condition as JSON (empty: all)", "events.watch": "Watch",
  "events.waiting": "Watching {class}. Nothing has happened yet.", "events.noObject": "A condition must be a JSON object.", "events.count": "{n} {n|event|events}",
  "events.skipped": "{n} skipped", "events.paused": "{n} more while paused", "events.gap": "some may be missing",
  "events.large": "The object has {n} bytes, and is not shown.", "events.before": "Before", "events.now": "Now",
});

const MOST = 1000;

/** The delay in milliseconds before the next request, so that many events are drawn together. */
const GATHER = 200;

function eventPanel(classes, scope) {
  const choice = h("select", { "aria-label": t("word.class") }, classes.map((name) => option(name, plain(name, 60))));
  const where = textField({ placeholder: t("events.where"), "aria-label": t("events.where") });
  const host = h(".log-host.events", { hidden: true });
  const words = h("span.quiet", { role: "status" });
  const problem = h("p.problem", { role: "alert" });
  let lines = [];
  let [dropped, held, hasGap] = [0, 0, false];
  let isReady = false;
  let control;
  let className;
  const list = lineList({ label: t("events.title"), draw: drawEvent, open: (event) => openEvent(className, event) });
  const pause = button(".button", () => {
    pause.setAttribute("aria-pressed", String(pause.getAttribute("aria-pressed") !== "true"));
    draw();
  }, t("word.pause"));
  pause.setAttribute("aria-pressed", "false");
  const isPaused = () => pause.getAttribute("aria-pressed") === "true";
  const clear = button(".button", () => {
    [lines, dropped, held, hasGap] = [[], 0, 0, false];
    draw();
  }, t("word.clear"));
  const go = button(".button.primary", () => (control ? stop() : start()), t("events.watch"));
  const draw = () => {
    host.hidden = !control && lines.length === 0;
    for (const one of [pause, clear]) one.hidden = host.hidden;
    if (!isPaused()) {
      held = 0;
      if (lines.length === 0) put(host, h("p.quiet.events-none", isReady ? t("events.waiting", { class: className }) : "\u2026"));
      else {
        const isAtEnd = !list.element.isConnected || list.isAtEnd();
        if (!list.element.isConnected) put(host, list.element);
        list.show([...lines], { toEnd: isAtEnd });
      }
    }
    put(words, [lines.length > 0 && t("events.count", { n: lines.length }), dropped > 0 && t("events.skipped", { n: dropped }), hasGap && t("events.gap"), held > 0 && t("events.paused", { n: held })].filter(Boolean).join(" \u00b7 "));
  };
  function stop() {
    control?.abort();
    control = undefined;
    put(go, t("events.watch"));
    choice.disabled = where.disabled = false;
    draw();
  }
  async function start() {
    put(problem);
    let condition = {};
    try {
      condition = JSON.parse(where.value.trim() || "{}");
      if (condition === null || typeof condition !== "object" || Array.isArray(condition)) throw new Error();
    } catch {
      put(problem, t("events.noObject"));
      where.focus();
      return;
    }
    className = choice.value;
    control = new AbortController();
    const own = AbortSignal.any([scope, control.signal]);
    [lines, dropped, held, hasGap] = [[], 0, 0, false];
    put(go, t("word.stop"));
    isReady = false;
    choice.disabled = where.disabled = true;
    draw();
    const watch = Math.random().toString(36).slice(2);
    try {
      for (let isFirst = true; !own.aborted; isFirst = false) {
        let body;
        try {
          ({ body } = await send("GET", "live/events", { query: { className, where: condition, watch, wait: 20 }, signal: own, isRepeatable: false }));
        } catch (lost) {
          if (lost.status !== 0) throw lost;
          // The events of a lost response are not sent again.
          hasGap = true;
          draw();
          await untilReachable(own);
          continue;
        }
        if (own.aborted) return;
        isReady = true;
        // The watch had ended in the meantime, or another process responds.
        hasGap ||= body.isNew && !isFirst;
        dropped += body.skipped;
        lines.push(...body.events);
        held += body.events.length;
        dropped += Math.max(0, lines.length - MOST);
        lines.splice(0, Math.max(0, lines.length - MOST));
        if (body.events.length > 0 || body.skipped > 0 || body.isNew) draw();
        await wait(own, GATHER);
      }
    } catch (refusal) {
      if (own.aborted) return;
      put(problem, plain(refusal.message, 300));
      stop();
    }
  }
  where.addEventListener("keydown", ({ key }) => key === "Enter" && !control && start());
  draw();
  return h("section.panel", h("h2", t("events.title")), h(".line.wrap", h(".narrow", choice), h(".grow", where), go, pause, clear), problem, words, host);
}

const changed = ({ object, original }) => (original ? Object.keys({ ...original, ...object }).filter((name) => name !== "updatedAt" && !isEqual(object[name], original[name])) : []);

function drawEvent(event) {
  const { at, event: kind, object } = event;
  const details = changed(event).slice(0, 5).map((name) => `${plain(name, 40)} ${inWords(event.original[name])} \u2192 ${inWords(object[name])}`).join(", ");
  return [h("time.quiet.mono", { title: date(at, true) }, date(at, true).slice(11, 23)), h("b.mono", plain(kind, 10)), h("code", plain(object.objectId, 24)), h("bdi.log-text", plain(details, 300))];
}

function openEvent(className, { at, event: kind, object, original, bytes }) {
  openDialog({ title: `${kind} ${plain(object.objectId, 24)}`, kind: "sheet" }, (close) => ({
    body: [
      h("p.line", h("time.mono", date(at, true)), kind !== "delete" && h("a", { href: address("data", [className, object.objectId]), onclick: () => close() }, icon("data"), " ", shown(object.objectId, 24))),
      bytes !== undefined && h("p", t("events.large", { n: bytes })),
      original && h("section", h("h3.label", t("events.before")), tree(original).element),
      bytes === undefined && h("section", h("h3.label", t("events.now")), tree(object).element),
    ],
  }));
}
