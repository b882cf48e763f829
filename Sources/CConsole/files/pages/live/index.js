/** Who is connected to live queries now, and subscribed to what. */

import { send } from "../../core/api.js";
import { isWatched } from "../../core/attention.js";
import { button, h, icon, put } from "../../core/dom.js";
import { setTitle } from "../../core/session.js";
import { addWords, ago, cut, date, shown, t } from "../../core/words.js";
import { keepFocus } from "../../parts/dialog.js";
import { empty, failed, loading } from "../../parts/states.js";

addWords({
  "live.hint": "Clients of live queries that are connected to this process, and what they are subscribed to.",
  "live.off": "Live queries are off",
  "live.offHint": "With the option liveQuery clients are notified of changes of the classes that it names. docs/live-queries.md begins with the first subscription.",
  "live.nobody": "Nobody is connected",
  "live.nobodyHint": "As soon as a client subscribes to something, it appears here.",
  "live.figures": "{clients} {clients|client|clients}, {subscriptions} {subscriptions|subscription|subscriptions}",
  "live.some": "The first {n} are shown.",
  "live.client": "Client",
  "live.from": "Address",
  "live.since": "Since",
  "live.what": "Subscribed to",
  "live.master": "with the master key",
  "live.nothing": "nothing yet",
  "live.all": "all of {class}",
  "live.where": "{class} where",
  "live.user": "as {user}",
  "live.more": "and {n} more",
  "live.follow": "Follow",
  "live.classes": "By class",
  "live.class": "Class",
  "live.count": "Subscriptions",
});

/** How often the server is asked while the page is looked at. */
const PAUSE = 2000;

/** Whether the list is kept up to date. */
let follows = true;

/** Opens the page until `scope` ends. */
export function open(scope) {
  setTitle(t("rail.live"));
  const number = h("span.quiet.count");
  const body = h(".scroll", loading());
  const toggle = button(".button", () => {
    follows = !follows;
    toggle.setAttribute("aria-pressed", String(follows));
    if (follows) begin();
  }, icon("refresh"), h("span.words", t("live.follow")));
  toggle.setAttribute("aria-label", t("live.follow"));
  toggle.setAttribute("aria-pressed", String(follows));
  let isRunning = false;
  async function begin() {
    if (isRunning) return;
    isRunning = true;
    try {
      do {
        if (isWatched()) {
          const { body: live } = await send("GET", "live", { signal: scope });
          if (scope.aborted) return;
          draw(body, number, live);
          if (!live.isOn) return;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      } while (follows && !scope.aborted);
    } catch (problem) {
      if (!scope.aborted) put(body, failed(problem, begin));
    } finally {
      isRunning = false;
    }
  }
  begin();
  return h(".page", h("header.head", h("h1", t("rail.live")), number, h("span.quiet.words", t("live.hint")), h(".space"), toggle), body);
}

function draw(body, number, { isOn, clients = 0, subscriptions = 0, connections = [] }) {
  put(number, isOn ? t("live.figures", { clients, subscriptions }) : "");
  if (!isOn || connections.length === 0) {
    put(body, empty({ picture: "live", title: t(isOn ? "live.nobody" : "live.off"), text: t(isOn ? "live.nobodyHint" : "live.offHint") }));
    return;
  }
  const byClass = new Map();
  for (const connection of connections) for (const { className } of connection.subscriptions) byClass.set(className, (byClass.get(className) ?? 0) + 1);
  keepFocus(body, () => put(body,
    byClass.size > 0 && h("section.panel", h("h2", t("live.classes")), h("table.list", { "aria-label": t("live.classes") }, h("thead", h("tr", h("th", { scope: "col" }, t("live.class")), h("th.right", { scope: "col" }, t("live.count")))),
      h("tbody", [...byClass].sort(([, left], [, right]) => right - left).map(([name, n]) => h("tr", h("th", { scope: "row" }, shown(name, 80)), h("td.right", String(n))))))),
    h("table.list", { "aria-label": t("rail.live") }, h("thead", h("tr", ["client", "what"].map((name) => h("th", { scope: "col" }, t("live." + name))), ["from", "since"].map((name) => h("th.wide", { scope: "col" }, t("live." + name))))),
      h("tbody", connections.map((one) => h("tr", h("th.mono", { scope: "row" }, shown(one.id, 40), one.isMaster && h("div.warn", t("live.master"))), h("td", one.subscriptions.length === 0 ? h("span.quiet", t("live.nothing")) : one.subscriptions.map(subscription),
        one.count > one.subscriptions.length && h("div.quiet", t("live.more", { n: one.count - one.subscriptions.length }))), h("td.wide.mono", shown(one.address, 60)), h("td.wide", h("time", { title: date(one.since, true) }, ago(one.since))))))),
    clients > connections.length && h("p.quiet", t("live.some", { n: connections.length }))));
}

function subscription({ className, where, user }) {
  const text = typeof where === "string" ? where : JSON.stringify(where ?? {});
  const name = cut(String(className), 60);
  return h("div", text === "{}" ? t("live.all", { class: name }) : [t("live.where", { class: name }), " ", h("span.mono", shown(text, 300))], user && h("span.quiet", " \u00b7 ", t("live.user", { user: cut(String(user), 40) })));
}
