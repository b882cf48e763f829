/** The start page: how to connect an app, the connected apps, and the first steps with data. */

import { pause, POLL, send } from "../../core/api.js";
import { button, h, icon, iconButton, linked, put, svg } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { mayChangeClasses, session, setTitle } from "../../core/session.js";
import { addWords, ago, plain, t } from "../../core/words.js";
import { classes, isServerClass, loadClasses, namingField } from "../../data/schema.js";
import { keepFocus } from "../../parts/dialog.js";
import { complain, copy, loading, reading } from "../../parts/states.js";
import { last } from "../data/index.js";

addWords({
  "start.connect": "1. Connect an app", "start.url": "Server URL", "start.appId": "Application id",
  "start.clientKey": "Client key", "start.javascriptKey": "JavaScript key", "start.scan": "Scan the code to take the server URL to a phone.", "start.code": "QR code of the server URL",
  "start.thisMachine": "Only this machine reaches the server. To connect a phone, set host to 0.0.0.0.",
  "start.unknown": "This machine has no network address. To connect a phone, join a network or set publicServerURL.",
  "start.needsKey": "Apps must send a key, which developers and owners see here.",
  "start.noKey": "Set the option {option}, and write its value for {key}.", "start.emulator": "In the emulator, write 10.0.2.2 for {host}.",
  "start.sample": "Load the sample",
  "start.snippets": "2. Make a request", "start.waiting": "Waiting for an app's first request\u2026", "start.connected": "Connected: {name}",
  "start.failed": "The last request reached the server, but failed: {error}",
  "start.data": "3. Add data", "start.class": "Create a class", "start.import": "Import CSV or JSON", "start.invite": "Invite an operator",
  "start.read": "Read on: docs/tutorial.md, docs/cloud-code.md, docs/security.md, docs/configuration.md",
});

export function open(scope) {
  const body = h(".scroll", loading());
  setTitle(t("rail.start"));
  reading(body, scope, async () => {
    if (!classes.peek()) await loadClasses();
    const name = firstClass();
    const { query } = route.peek();
    put(body, content((await send("GET", "start", { query: name ? { class: name, field: namingField(name) } : {}, signal: scope })).body, new URLSearchParams(query.get("class") === name ? query.get("query") ?? "" : ""), scope));
  });
  return h(".page", h("header.head", h("h1", t("rail.start"))), body);
}

function content(server, query, scope) {
  const status = h("div");
  // Screen readers announce an app once, not whenever its last request gets older.
  const said = h("p.sr", { role: "status" });
  follow(status, said, scope);
  const row = (name) => server[name] && h("tr", h("th", { scope: "row" }, t("start." + name)), h("td", h("code", server[name])),
    h("td.actions", iconButton("copy", `${t("error.copy")} ${t("start." + name)}`, () => copy(server[name]))));
  const hint = server.reach === "network" ? server.code && t("start.scan") : t("start." + server.reach, server);
  return [
    h("section.panel", h("h2", t("start.connect")), h(".connect", h(".facts", h("table.list", h("tbody", ["url", "appId", "clientKey", "javascriptKey"].map(row))),
      hint && h("p.quiet", hint), server.needsKey && !mayChangeClasses() && h("p.quiet", t("start.needsKey"))), server.code && drawn(server.code))),
    h("section.panel", h("h2", t("start.snippets")), snippets(server.snippets.map((one) => ({ ...one, text: adapted(one, server, query) }))), h("div", status, said)),
    h("section.panel", mayChangeClasses() && [h("h2", t("start.data")), h(".line.wrap", steps())], h("p.quiet", linked(t("start.read")))),
  ];
}

/** Returns the class in the address, or else the one opened last or the first that everybody may find, so that the request succeeds. */
function firstClass() {
  const own = [...(classes.peek()?.values() ?? [])].filter(({ className }) => !isServerClass(className));
  const open = own.filter(({ permissions }) => !permissions || permissions.find?.["*"]);
  const chosen = own.find(({ className }) => className === route.peek().query.get("class"));
  return (chosen ?? open.find(({ className }) => className === last) ?? open[0])?.className;
}

/** Puts a query into the code for JavaScript and curl. Its quotes are encoded. Returns other code as it is. */
function withQuery(code, query) {
  try {
    const values = Object.fromEntries([...query].map(([name, value]) => [name, /^[\d{]/.test(value) ? JSON.parse(value) : value]));
    return code.replace(/new Parse\.Query\((".*?")\)/, (_, name) => `Parse.Query.fromJSON(${name}, ${plain(JSON.stringify(values), 10_000)})`)
      .replace(/(\/classes\/\w+)'/, `$1?${query}'`);
  } catch {
    return code;
  }
}

/** Adds the query and comments about what the code lacks. */
function adapted({ name, text }, server, query) {
  const code = query.size ? withQuery(text, query) : text;
  // The page API writes the same variable.
  const key = name === "curl" && session.peek().server.clientKeyField === "X-Parse-Client-Key" && /'X-Parse-Client-Key: (.*)'$/.exec(code);
  const hints = [["clientKey", "CLIENT_KEY"], ["javascriptKey", "JAVASCRIPT_KEY"]].filter(([option, key]) => mayChangeClasses() && server.needsKey && !server[option] && code.includes(key))
    .map(([option, key]) => t("start.noKey", { key, option }));
  if (name.startsWith("Kotlin") && server.reach !== "network") hints.push(t("start.emulator", { host: new URL(server.url).hostname }));
  if (query.size && code === text) hints.push(plain([...query].map((pair) => pair.join("=")).join(", "), 1000));
  return hints.map((hint) => `${name === "curl" ? "#" : "//"} ${hint}\n`).join("") + (key ? `export PARSE_CLIENT_KEY='${key[1]}'\n${code.slice(0, key.index)}"X-Parse-Client-Key: $PARSE_CLIENT_KEY"` : code);
}

const KEY = "roost.language";

function snippets(all) {
  const element = h(".facts");
  const show = (chosen) => keepFocus(element, () => put(element, h(".line.wrap", all.map((one) => h("button.button", { "aria-pressed": String(one === chosen), onclick: () => {
    localStorage.setItem(KEY, one.name);
    show(one);
  } }, one.name)), h(".space"), button(".button", () => copy(chosen.text), icon("copy"), t("error.copy"))), h("pre.mono.code", chosen.text)));
  show(all.find(({ name }) => name === localStorage.getItem(KEY)) ?? all[0]);
  return element;
}

function steps() {
  const make = async (isImport) => {
    const name = await (await import("../schema/forms.js")).makeClass(...(isImport ? ["readOnly", t("start.import")] : []));
    if (!name) return;
    if (isImport) await (await import("../data/import.js")).openImport(name);
    go(address("data", [name]));
  };
  const sample = () => import("../schema/forms.js").then(({ makeSample }) => makeSample()).then(() => go(address("data", ["Note"])), complain);
  const { role } = session.peek().operator;
  return [
    button(".button.primary", () => make(false), icon("plus"), t("start.class")),
    button(".button", () => make(true), icon("file"), t("start.import")),
    !classes.peek()?.has("Note") && button(".button", sample, icon("data"), t("start.sample")),
    role === "owner" && button(".button", async () => (await import("../operators.js")).openOperators(), icon("users"), t("start.invite")),
  ];
}

/** Dark modules on white in both themes, because cameras need the contrast. */
function drawn(rows) {
  const d = rows.flatMap((row, y) => [...row].map((cell, x) => (cell === "1" ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  const size = rows.length + 8;
  return svg("svg", { viewBox: `-4 -4 ${size} ${size}`, class: "qr", role: "img", "aria-label": t("start.code") }, svg("path", { d }));
}

/** Shows the apps that have sent requests as they appear, and the last request if it failed. */
async function follow(status, said, scope) {
  for (let before; !scope.aborted;) {
    try {
      const { clients, failure } = (await send("GET", "start/clients", { signal: scope, headers: POLL })).body;
      const texts = clients.map(({ name }) => t("start.connected", { name }));
      const since = ({ seconds }) => ago(Date.now() - seconds * 1000);
      put(status, texts.length ? clients.map((one, index) => h("p.good", icon("check"), ` ${texts[index]}, ${since(one)}`)) : !failure && h("p.quiet", t("start.waiting")));
      if (failure) {
        texts.push(t("start.failed", failure));
        const text = `${texts.at(-1)}, ${since(failure)}`;
        status.append(h("p.notice", mayChangeClasses() ? h("a", { href: address("logs", [], { request: failure.id }) }, text) : text));
      }
      if (texts.join() !== before) put(said, texts.join(". "));
      before = texts.join();
    } catch { /* The frame reports that the server is unreachable; the next round retries. */ }
    await pause(scope);
  }
}
