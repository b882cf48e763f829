/** The users of the app: lists of users, roles, sessions and installations. */

import { objectPath, parse, SHORTEN } from "../../core/api.js";
import { button, debounce, h, icon, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, route } from "../../core/router.js";
import { mayChangeClasses, mayWrite, session, setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, date, shown, t } from "../../core/words.js";
import { drawPointer } from "../../data/cells.js";
import { classes, learn, loadClasses, namesChanged, typeOf } from "../../data/schema.js";
import { keepFocus } from "../../parts/dialog.js";
import { complain, empty, failed, loading, record, table } from "../../parts/states.js";

addWords({
  "users.users": "Users", "users.roles": "Roles", "users.sessions": "Sessions", "users.installations": "Installations", "users.find": "Name, address or id", "users.empty.users": "Nobody yet",
  "users.emptyHint.users": "Users sign up in the app. They can also be created here.", "users.empty.roles": "No roles yet",
  "users.emptyHint.roles": "A role gives its members the same permissions. Create the first one here.", "users.new.users": "New user", "users.new.roles": "New role", "users.empty.sessions": "No sessions",
  "users.emptyHint.sessions": "A session begins when a user logs in.", "users.empty.installations": "No installations yet",
  "users.emptyHint.installations": "Apps store an installation for each device that gets pushes.", "users.nothing": "No user has that name, address or id", "users.email": "Email",
  "users.verified": "verified", "users.unverified": "not verified", "users.user": "User", "users.began": "Began", "users.ends": "Ends", "users.device": "Device", "users.app": "App",
  "users.channels": "Channels", "users.used": "Changed", "users.endOf": "End the session of {when}", "users.object": "Object", "users.objectOf": "Object {id}",
});

const PAGE = 50;

const cells = {
  user: (object) => [h("a", { href: address("users", ["user", object.objectId]) }, shown(object.username ?? object.objectId, 60)),
    object.email ? [shown(object.email, 60), " ", h("span.quiet", t(object.emailVerified ? "users.verified" : "users.unverified"))] : "", when(object.createdAt)],
  role: (object) => [h("a", { href: address("users", ["role", object.objectId]) }, shown(object.name ?? object.objectId, 60)), when(object.createdAt)],
  session: (object, again) => [typeOf(object.user) === "Pointer" ? h("a", { href: address("users", ["user", object.user.objectId]) }, drawPointer(object.user)) : "", how(object), when(object.createdAt),
    typeOf(object.expiresAt) === "Date" ? when(object.expiresAt.iso) : "", endButton(object, again)],
  installation: (object) => [h("a", { href: address("data", ["_Installation", object.objectId]), "aria-label": t("users.objectOf", { id: object.objectId }) }, shown(object.deviceType ?? "\u2013", 20)),
    shown([object.appName ?? object.appIdentifier, object.appVersion].filter((text) => typeof text === "string").join(" "), 60), shown(Array.isArray(object.channels) ? object.channels.filter((name) => typeof name === "string").join(", ") : "", 80), when(object.updatedAt)],
};

/** The kinds with their requests and column titles. Titles with ".wide" are left out on phones. */
const KINDS = {
  users: { className: "_User", keys: "username,email,emailVerified", titles: [["word.name"], ["users.email"], ["word.created", ".wide"]], row: cells.user },
  roles: { className: "_Role", keys: "name", titles: [["word.name"], ["word.created"]], row: cells.role },
  // Tokens are never requested.
  sessions: { className: "_Session", keys: "user,createdWith,expiresAt", titles: [["users.user"], ["word.by", ".wide"], ["users.began"], ["users.ends", ".wide"], ["", ".actions"]], row: cells.session },
  installations: { className: "_Installation", keys: "deviceType,appName,appIdentifier,appVersion,channels", titles: [["users.device"], ["users.app"], ["users.channels", ".wide"], ["users.used", ".wide"]], row: cells.installation },
};

const when = (iso) => h("time", { title: date(iso, true) }, ago(iso));

export function how({ createdWith }) {
  const { action, authProvider } = createdWith !== null && typeof createdWith === "object" ? createdWith : {};
  return shown([action, authProvider].filter((text) => typeof text === "string").join(", "), 40);
}

export function endButton({ objectId, createdAt }, again) {
  return mayChangeClasses() && h("button.button", { "aria-label": t("users.endOf", { when: ago(createdAt) }), onclick: async (event) => {
    event.currentTarget.disabled = true;
    try {
      await parse.delete(objectPath("_Session", objectId));
      record(t("word.ended"));
    } catch (problem) {
      complain(problem);
    }
    again();
  } }, t("word.end"));
}

export function open(scope) {
  const host = h(".page");
  if (!classes.peek()) loadClasses();
  const next = latest(scope);
  effect(() => {
    const { page, parts } = route();
    if (page !== "users" || !classes()) return;
    const inner = next();
    setTitle(t("rail.users"));
    const [kind = "users", id] = parts;
    if (["user", "role"].includes(kind) && id) {
      put(host, loading());
      import("./one.js").then((module) => !inner.aborted && module.openOne(host, kind, id, inner), (problem) => put(host, failed(problem)));
    } else list(host, Object.hasOwn(KINDS, kind) ? kind : "users", inner);
  }, scope);
  return host;
}

/** Creates the tabs that lead to the lists, with `chosen` as the current one. */
export const tabs = (chosen) => h("nav.tabs", { "aria-label": t("rail.users") }, Object.keys(KINDS).map((kind) => h("a", {
  href: address("users", kind === "users" ? [] : [kind]), "aria-current": kind === chosen ? "page" : null,
}, t("users." + kind))));

function list(host, kind, scope) {
  const { className } = KINDS[kind];
  const number = h("span.quiet.count", { role: "status" });
  const body = h(".scroll", loading());
  const input = kind === "users" && h("input", { type: "search", "aria-label": t("users.find"), placeholder: t("users.find"), autocomplete: "off", spellcheck: "false",
    oninput: debounce(150, () => show()), onkeydown: (event) => { if (event.key === "Enter") body.querySelector("a")?.click(); } });
  const next = latest(scope);
  const show = () => fill(body, number, kind, input ? input.value.trim() : "", next);
  put(host, h("header.head", h("h1", t("users." + kind)), number, h(".space"), h("a.button.wide", { href: address("data", [className]) }, className), adding(kind, show)), tabs(kind), input && h(".finding", input), body);
  if (input) addKeys(t("users.users"), { "/": { words: t("users.find"), do: () => input.focus() } }, scope);
  show();
}

/** Creates the button for a new user or role, or returns false for kinds that only apps create. */
const adding = (kind, done) => ["users", "roles"].includes(kind) && mayWrite() && button(".button.primary", async () => {
  const { className } = KINDS[kind];
  (await import("../data/new.js")).openNew({ className, title: t("users.new." + kind), description: classes.peek().get(className), rows: [], grid: {}, reload: done });
}, icon("plus"), h("span.words", t("users.new." + kind)));

/** Returns a filter for users whose name or address begins with a text, or whose id it is. */
function whereOf(text) {
  const begins = { $regex: `^\\Q${text.replaceAll("\\E", "")}\\E`, $options: "i" };
  return text === "" ? {} : { $or: [{ objectId: text }, { username: begins }, { email: begins }] };
}

async function fill(body, number, kind, text, next) {
  const { className, keys, titles, row } = KINDS[kind];
  const scope = next();
  let objects = [];
  let total = 0;
  const again = () => fill(body, number, kind, text, next);
  const read = async () => {
    try {
      const answer = await parse.get(objectPath(className), { where: whereOf(text), keys, order: "-createdAt", limit: PAGE, skip: objects.length, count: 1 }, { signal: scope, headers: SHORTEN });
      if (scope.aborted) return;
      objects = [...objects, ...answer.body.results];
      total = answer.body.count;
      draw();
    } catch (problem) {
      if (!scope.aborted) put(body, failed(problem, again));
    }
  };
  const draw = () => {
    put(number, t("grid.objects", { n: total }));
    if (objects.length === 0) {
      put(body, text ? empty({ picture: "search", title: t("users.nothing"), text: t("word.shorter") }) : empty({ picture: "users", title: t("users.empty." + kind), text: t("users.emptyHint." + kind),
        actions: [adding(kind, again) || h("a.button.primary", { href: address("start") }, icon("link"), t("classes.connect"))] }));
      return;
    }
    if (className === "_User") for (const object of objects) learn("_User", object);
    put(body, table(t("users." + kind), titles.map(([words, part]) => [words && t(words), part]), objects.map((object) => row(object, again))),
    objects.length < total && button(".button", read, icon("down"), t("word.showMore")));
  };
  if (kind === "sessions") effect(() => {
    namesChanged();
    if (objects.length > 0) keepFocus(body, draw);
  }, scope);
  await read();
}
