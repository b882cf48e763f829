/** A REST API request: composed, sent with the session's permissions, and shown as a command without a key. */

import { send } from "../../core/api.js";
import { button, h, icon, labelled, option, problemLine, put, textField } from "../../core/dom.js";
import { addKeys, isCovered } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { session, setTitle } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { addWords, bytes, plain, shown, t } from "../../core/words.js";
import { tree } from "../../data/editors/tree.js";
import { classes, loadClasses, typeOf } from "../../data/schema.js";
import { confirm } from "../../parts/dialog.js";
import { copy, copyButton } from "../../parts/states.js";
import { outcomeOf, viewAs } from "../cloud/index.js";
import { last } from "../data/index.js";

addWords({
  "rest.hint": "Send any REST API request, and get the code for it.", "rest.method": "Method", "rest.path": "Path below the mount",
  "rest.query": "Parameters, one per line: where={\"plays\":{\"$gt\":5}}", "rest.body": "Body (JSON)",
  "rest.onlyReads": "As someone else, you can only read and call functions.", "rest.planHint": "How the database would find these objects",
  "rest.took": "{status} in {ms} ms, {size}", "rest.headers": "Header fields", "rest.tree": "As a tree", "rest.json": "As JSON", "rest.code": "As an app sends it", "rest.without": "As an app sends it, without the master key",
  "rest.sdk": "Code for the SDKs", "rest.keys": "Set the keys first. Apps send no master key.",
  "rest.bad": "The body is not JSON: {problem}", "rest.badQuery": "Write parameters like name=value: {line}",
  "rest.badPath": "Write paths like classes/Track, without dots between slashes and without ?.", "rest.sure": "{method} {path}",
  "rest.sureText": "This deletes. Objects go to the trash; sessions, classes, files, hooks and schedules do not.",
});

const PATHS = ["classes/", "users", "users/me", "roles", "sessions", "installations", "functions/", "jobs/", "schemas", "config", "hooks/functions", "hooks/triggers", "batch", "aggregate/", "push",
  "push_audiences", "cloud_code/jobs", "files/", "serverInfo", "security", "slow_queries", "index_advice", "scriptlog"];
const METHODS = ["GET", "POST", "PUT", "DELETE"];
const MOST = 50;
const SHOWN = 200_000;

const history = [];
/** The request as typed, which the page keeps while another page is open. */
const draft = { body: "{}" };

export function open(scope) {
  const { server } = session.peek();
  setTitle(t("rail.rest"));
  const asked = route.peek().query;
  const method = h("select", { "aria-label": t("rest.method"), onchange: () => draw() }, METHODS.map((name) => option(name, name)));
  const path = textField({ "aria-label": t("rest.path"), list: "rest-paths", oninput: () => draw() });
  const query = h("textarea", { name: "query", rows: "3", spellcheck: "false", oninput: () => draw() });
  const body = h("textarea", { name: "body", rows: "6", spellcheck: "false", oninput: () => draw() });
  const bodyRow = labelled(t("rest.body"), body);
  const as = h("select", { "aria-label": t("call.as"), onchange: () => draw() }, ["master", "nobody", "user"].map((name) => option(name, t("call." + name))));
  const who = textField({ "aria-label": t("call.who"), placeholder: t("call.who"), oninput: () => draw() });
  const hint = h("p.quiet", t("rest.onlyReads"));
  const problem = problemLine();
  const answer = h("section.panel", { hidden: true, role: "status" });
  const codes = h("section.panel");
  const past = h("section.panel", { hidden: true });
  const submit = button(".button.primary", () => attempt(), icon("check"), t("word.send"));
  const plan = button(".button", () => attempt(["explain", "true"]), t("word.plan"));
  plan.title = t("rest.planHint");

  function read() {
    const text = path.value.trim().replace(/^\/+/, "");
    if (!text || /[?#]|\/$/.test(text) || text.split("/").some((part) => /^(\.|%2e){1,2}$/i.test(part))) throw new Error(t("rest.badPath"));
    const lines = query.value.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
      const place = line.indexOf("=");
      if (place < 1) throw new Error(t("rest.badQuery", { line }));
      return [line.slice(0, place).trim(), line.slice(place + 1).trim()];
    });
    let content;
    if (["POST", "PUT"].includes(method.value)) {
      content = body.value.trim() || "{}";
      try {
        JSON.parse(content);
      } catch (reason) {
        throw new Error(t("rest.bad", { problem: reason.message }));
      }
    }
    return { method: method.value, path: text, query: lines, body: content };
  }
  const mayBeAnother = () => method.value === "GET" || (method.value === "POST" && /^\/*functions\/[^/]+$/i.test(path.value.trim()));
  async function attempt(more) {
    put(problem);
    submit.disabled = true;
    try {
      const request = read();
      if (as.value !== "master" && !mayBeAnother()) throw new Error(t("rest.onlyReads"));
      if (more) request.query = [...request.query, more];
      if (request.method === "DELETE" && !(await confirm({ title: t("rest.sure", request), text: t("rest.sureText"), button: t("word.send"), isDanger: true }))) return;
      const headers = await viewAs(as.value, who.value.trim(), scope);
      const began = performance.now();
      const target = url("parse", request.path, request.query);
      // The body is sent as typed, so numbers of any length arrive unchanged. Only reads are retried, because other requests may not be
      // repeatable.
      const options = request.body === undefined ? {} : { file: request.body, headers: { "Content-Type": "application/json" } };
      const outcome = await outcomeOf(send(request.method, target, { ...options, headers: { ...options.headers, ...headers }, signal: scope, isRepeatable: request.method === "GET" }), request.method !== "GET" && `${request.method} ${request.path}`);
      if (scope.aborted) return;
      remember(request, outcome.status);
      show(outcome, performance.now() - began);
    } catch (refusal) {
      if (!scope.aborted) put(problem, plain(refusal.message, 300));
    } finally {
      submit.disabled = false;
    }
  }
  function show(outcome, ms) {
    const value = outcome.body ?? {};
    const text = JSON.stringify(value, null, 2);
    const fields = [...(outcome.headers ?? [])].sort();
    const view = h("div");
    const asTree = ["Object", "Array"].includes(typeOf(value));
    const choose = (isTree) => put(view, isTree ? tree(value).element : h("pre.mono.code", inLines(text)));
    answer.hidden = false;
    put(answer, h("h2", t("call.answer"), " ", h("span", { class: outcome instanceof Error ? "bad" : "quiet" }, t("rest.took", { status: outcome.status, ms: Math.round(ms), size: bytes(text.length) }))),
      h(".line", button(".plain", () => choose(true), t("rest.tree")), button(".plain", () => choose(false), t("rest.json")), button(".plain", () => copy(text), icon("copy"), t("error.copy"))), view,
      fields.length > 0 && h("details", h("summary", t("rest.headers")), h("table.list", h("tbody", fields.map(([name, field]) => h("tr", h("th", { scope: "row" }, shown(name, 60)), h("td.mono", shown(field, 300))))))));
    choose(asTree && text.length < SHOWN);
  }
  function remember(request, status) {
    history.unshift({ ...request, status, query: request.query.map((pair) => pair.join("=")).join("\n") });
    history.length = Math.min(history.length, MOST);
    drawPast();
  }
  function fill(request) {
    for (const [name, control] of Object.entries({ method, path, query, body, as, who })) control.value = request[name] ?? control.value;
    draw();
  }
  function drawPast() {
    past.hidden = history.length === 0;
    put(past, h("h2", t("word.history")), history.map((one) => h("button.member.line.past", { onclick: () => {
      fill(one);
      path.focus();
    } }, h("b.mono", one.method), h("span.grow.mono", shown(one.path + (one.query ? " " + one.query : ""), 160)), h("span", { class: one.status >= 400 ? "bad" : "quiet" }, String(one.status)))));
  }
  function draw() {
    Object.assign(draft, { method: method.value, path: path.value, query: query.value, body: body.value, as: as.value, who: who.value });
    const isWrite = ["POST", "PUT"].includes(method.value);
    bodyRow.hidden = !isWrite;
    plan.hidden = method.value !== "GET" || !/^\/*(classes\/[^/]+|users|roles|sessions|installations)\/*$/i.test(path.value.trim());
    who.hidden = as.value !== "user";
    hint.hidden = as.value === "master" || mayBeAnother();
    const heading = t(as.value === "master" ? "rest.without" : "rest.code");
    let text;
    let request;
    try {
      request = read();
      text = curl({ ...request, address: url(server.publicServerURL ?? location.origin + server.mount, request.path, request.query), who: as.value, server });
    } catch (reason) {
      put(codes, h("h2", heading), h("p.quiet", plain(reason.message, 200)));
      return;
    }
    const [, name, id] = /^classes\/([^/]+)(\/.+)?/.exec(request.path) ?? [];
    put(codes, h("h2", heading), h(".line", copyButton(text), h("a", { href: address("start", [], { class: name, query: id || request.body ? "" : new URLSearchParams(request.query) }) }, t("rest.sdk"))),
      h("p.quiet", t("rest.keys")), text.match(/\$PARSE\w+(?=")/g)?.map((key) => h("code", `export ${key.slice(1)}='\u2026'`)), h("pre.mono.code", text));
  }
  const paths = h("datalist", { id: "rest-paths" });
  const complete = () => {
    const own = [...(classes()?.keys() ?? [])].filter((name) => !name.startsWith("_"));
    put(paths, [...PATHS, ...own.flatMap((name) => [`classes/${name}`, `schemas/${name}`])].map((text) => h("option", { value: text })));
    const name = classes()?.has(last) ? last : own[0];
    if (name && (!path.value || (path.value === draft.given && !query.value && method.value === "GET"))) fill({ path: draft.given = "classes/" + name });
  };
  addKeys(t("word.requests"), { "Mod+Enter": { words: t("word.send"), isAlways: true, do: ({ repeat }) => isCovered() ? false : repeat || submit.click() } }, scope);
  fill(draft);
  // The address can set only a path and parameters, so nobody else can prepare the body.
  if (asked.size) {
    fill({ method: "GET", path: asked.get("path"), query: asked.get("query") ?? "" });
    go(address("rest"), true);
  }
  effect(complete, scope);
  if (!classes.peek()) loadClasses();
  drawPast();
  return h(".page", h("header.head", h("h1", t("rail.rest")), h("span.quiet.words", t("rest.hint"))), h(".scroll", h("section.panel",
    h(".line.request", h(".method", method), path, submit, plan), paths, labelled(t("rest.query"), query), bodyRow, h(".line.wrap", labelled(t("call.as"), as), who), hint, problem), answer, codes, past));
}

/** Draws text by lines, with invisible characters as escapes. */
function inLines(text) {
  const lines = text.slice(0, SHOWN).split("\n");
  return lines.flatMap((line, index) => [plain(line, 20_000), index < lines.length - 1 ? "\n" : ""]);
}

// Characters that could deceive in an editor or terminal are escaped, which JSON reads as the same text.
const UNSAFE = /[[\p{Cc}\p{Cf}\p{Cs}\p{DI}\p{Z}\u2800\u{10000}-\u{10ffff}]--[\t\n\r ]]/gv;
const safeJSON = (text) => text.replace(UNSAFE, (match) => match.split("").map((unit) => "\\u" + unit.charCodeAt(0).toString(16).padStart(4, "0")).join(""));

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns the encoded URL of a request, which is safe in shells and source code. */
function url(base, path, query) {
  const encode = (text) => encodeURIComponent(text).replace(/['()!*~]/g, (character) => "%" + character.charCodeAt(0).toString(16).toUpperCase());
  const parts = path.split("/").map((part) => {
    try {
      return encode(decodeURIComponent(part));
    } catch {
      return encode(part);
    }
  }).join("/");
  return `${base}/${parts}` + (query.length ? "?" + query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&") : "");
}

/** Returns the curl command of `{ method, address, body, who, server }`; `body` is JSON text or undefined. */
function curl({ method, address, body, who, server: { appId, clientKeyField } }) {
  return [`curl -X ${method} ${shell(address)}`, `-H ${shell("X-Parse-Application-Id: " + appId)}`,
    ...(clientKeyField ? [`-H "${clientKeyField}: $PARSE_CLIENT_KEY"`] : []), ...(who === "user" ? ['-H "X-Parse-Session-Token: $PARSE_SESSION_TOKEN"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `--data-raw ${shell(safeJSON(body))}`])].join(" \\\n  ");
}
