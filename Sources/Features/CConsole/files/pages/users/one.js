/** One user or role with related objects and actions. */

import { objectPath, parse, poll, POLL } from "../../core/api.js";
import { button, h, icon, labelled, option, put, textField } from "../../core/dom.js";
import { address, go } from "../../core/router.js";
import { mayChangeClasses, mayWrite } from "../../core/session.js";
import { latest } from "../../core/signal.js";
import { addWords, ago, date, drawnApart, plain, shown, t } from "../../core/words.js";
import { summary } from "../../data/cells.js";
import { thumbnail } from "../../data/editors/file.js";
import { editRelation } from "../../data/editors/members.js";
import { Row } from "../../data/rows.js";
import { classes, isServerClass, learn, nameOf, typeOf } from "../../data/schema.js";
import { noValue, pointer } from "../../data/values.js";
import { confirm, keepFocus, openDialog, openForm } from "../../parts/dialog.js";
import { complain, empty, failed, loading, offer, record } from "../../parts/states.js";
import { endButton, how, tabs } from "./index.js";

addWords({
  "one.gone": "No {kind} has this id", "one.goneText": "Check the id {id}, or look in Users.", "one.facts": "Account", "one.object": "Open object", "one.providers": "Sign-in methods", "one.password": "password",
  "one.hidden": "not shown to your role", "one.seen": "Last log-in", "one.noSession": "no open session", "one.open": "may log in", "one.locked": "locked out", "one.paused": "locked after failed log-ins",
  "one.through": "through {role}", "one.ends": "ends {when}", "one.do": "Actions", "one.resetTitle": "Password reset",
  "one.resetHint": "Sends an email with a link to choose a new one.", "one.resetDone": "If email is set up, a message is on its way to {email}", "one.passwordHint": "Replaces the password right away.",
  "one.setPassword": "Set password", "one.passwordDone": "{name} has a new password", "one.lockTitle": "Access", "one.lockHint": "Rejects new sign-ins.", "one.lock": "Lock out",
  "one.lockText": "{name} cannot log in from then on. Open sessions stay.", "one.lockDone": "{name} is locked out", "one.unlock": "Unlock",
  "one.unlockDone": "{name} may log in again", "one.undone": "Permissions of {name} restored", "one.as": "View a class as {name}", "one.look": "View", "one.members": "Members",
  "one.children": "Child roles", "one.parents": "Parent roles", "one.none": "None", "one.changeMembers": "Change members", "one.changeChildren": "Change child roles",
  "one.first": "The first {n} of {total}", "one.circle": "leads back to {role}", "one.inside": "Members of a child role have the permissions of this role.",
});

/** Shows a user or role in an element until `scope` ends. */
export async function openOne(host, kind, id, outer, next = latest(outer)) {
  const scope = next();
  const className = kind === "user" ? "_User" : "_Role";
  const again = () => openOne(host, kind, id, outer, next);
  const newer = h("span.newer");
  const user = pointer("_User", id);
  // Sessions change with each use.
  const state = async () => JSON.stringify(await Promise.all([[className, { objectId: id }], ["_Role", { users: user }], ["_Session", { user }]].map(async ([name, where]) => (
    await find(name, where, scope, { keys: "objectId", order: "objectId" }, POLL)).results.map(({ objectId, updatedAt }) => objectId + (name === className ? updatedAt : "")))));
  const first = state().catch(() => {});
  let object;
  try {
    object = (await parse.get(objectPath(className, id), {}, { signal: scope, headers: { "X-Roost-Shorten": "1024" } })).body;
  } catch (problem) {
    if (!scope.aborted) put(host, problem.status === 404 ? empty({ picture: "search", title: t("one.gone", { kind }), text: t("one.goneText", { id }) }) : failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  learn(className, object);
  poll(async () => offer(newer, (await state()) !== (await first) && t("grid.changedRows", { n: 1 }), again), scope);
  const list = kind === "user" ? [] : ["roles"];
  keepFocus(host, () => put(host, h("header.head", h("a.plain.back", { href: address("users", list), "aria-label": t("users." + kind + "s") }, icon("back")), kind === "user" && avatar(object, scope), h("h1", shown(nameOf(className, id) || id, 80)), h("code.quiet.crumb", plain(id, 40)), newer, h(".space"),
    h("a.button", { href: address("data", [className, id]) }, icon("data"), h("span.words", t("one.object")))), tabs(kind + "s"), h(".scroll", (kind === "user" ? userPage : role)(object, again, scope))));
}

/** Creates a picture from the first image among the user's fields, or from the initial of the name. */
function avatar(object, scope) {
  const file = Object.values(object).find((value) => typeOf(value) === "File" && /\.(png|jpe?g|gif|webp|avif)$/i.test(value.name ?? ""));
  const element = file ? thumbnail({ ...file, type: "image/png" }, scope) : h("span.thumbnail", { "aria-hidden": "true" }, plain([...String(object.username ?? "?")][0] ?? "?").toUpperCase());
  element.classList.add("avatar");
  return element;
}

const panel = (words, ...content) => h("section.panel", h("h2", words), content);
const fact = (words, value) => h(".line.member", h("span.quiet.operation", words), h("span.grow", value));

function later(scope, read) {
  const host = h("div", loading(2));
  read().then((content) => put(host, content), (problem) => { if (!scope.aborted) put(host, h("p.problem", problem.message)); });
  return host;
}

const find = async (className, where, scope, more = {}, headers = {}) => (await parse.get(objectPath(className), { where, limit: 100, ...more }, { signal: scope, headers })).body;

function userPage(object, again, scope) {
  const id = object.objectId;
  const name = plain(nameOf("_User", id) || id, 60);
  const isLocked = object.ACL !== undefined && object.ACL !== null && Object.keys(object.ACL).length === 0;
  const providers = mayWrite() ? shown(Object.keys(object.authData ?? {}).join(", ") || t("one.password"), 120) : t("one.hidden");
  const state = h("span", { class: isLocked ? "bad" : "good" }, t(isLocked ? "one.locked" : "one.open"));
  // The server never returns this field, but it can be used in a condition.
  find("_User", { objectId: id, _account_lockout_expires_at: { $gt: { __type: "Date", iso: new Date().toISOString() } } }, scope, { keys: "objectId" })
    .then(({ results }) => results.length > 0 && put(state, h("span.bad", t("one.paused"))), () => {});
  const seen = h("span", "\u2026");
  const sessions = later(scope, async () => {
    const { results } = await find("_Session", { user: pointer("_User", id) }, scope, { keys: "createdWith,expiresAt,installationId", order: "-createdAt" });
    put(seen, results.length > 0 ? h("time", { title: date(results[0].createdAt, true) }, ago(results[0].createdAt)) : drawnApart(t("one.noSession")));
    const devices = await devicesOf(results.map(({ installationId }) => installationId).filter((key) => typeof key === "string"), scope);
    return results.length === 0 ? h("p.quiet", t("one.noSession")) : results.map((entry) => h(".line.member", h(".grow", h("div", { title: date(entry.createdAt, true) }, ago(entry.createdAt), " \u00b7 ", how(entry)),
      h(".quiet", typeof entry.installationId === "string" && [shown(devices.get(entry.installationId) || entry.installationId, 60), " \u00b7 "], entry.expiresAt?.iso ? t("one.ends", { when: ago(entry.expiresAt.iso) }) : "")), endButton(entry, again)));
  });
  return h(".two", h("div",
    panel(t("one.facts"), fact(t("word.name"), shown(object.username ?? "", 80)),
      fact(t("users.email"), object.email ? [shown(object.email, 80), " ", h("span.quiet", t(object.emailVerified ? "users.verified" : "users.unverified"))] : drawnApart(t("one.none"))),
      fact(t("one.providers"), providers),
      fact(t("word.created"), date(object.createdAt)), fact(t("one.seen"), seen), fact(t("word.state"), state)),
    panel(t("users.roles"), later(scope, () => rolesOf(id, scope)))),
  h("div", panel(t("users.sessions"), sessions), actions(object, name, isLocked, again)));
}

async function devicesOf(ids, scope) {
  if (ids.length === 0) return new Map();
  const { results } = await find("_Installation", { installationId: { $in: ids } }, scope, { keys: "installationId,deviceType,appName" });
  return new Map(results.map(({ installationId, deviceType, appName }) => [installationId, [deviceType, appName].filter((text) => typeof text === "string").join(", ")]));
}

async function rolesOf(id, scope) {
  const found = new Map();
  let fresh = (await find("_Role", { users: pointer("_User", id) }, scope, { keys: "name" })).results.map((role) => ({ role, through: null }));
  while (fresh.length > 0 && found.size < 50) {
    const next = [];
    for (const { role, through } of fresh) {
      if (found.has(role.objectId)) continue;
      found.set(role.objectId, { role, through });
      const { results } = await find("_Role", { roles: pointer("_Role", role.objectId) }, scope, { keys: "name" });
      next.push(...results.map((parent) => ({ role: parent, through: role })));
    }
    fresh = next;
  }
  return found.size === 0 ? h("p.quiet", t("one.none")) : [...found.values()].map(({ role, through }) => h(".line.member", h("a.grow", { href: address("users", ["role", role.objectId]) }, shown(role.name ?? role.objectId, 60)),
    through && h("span.quiet", t("one.through", { role: through.name ?? through.objectId }))));
}

function actions(object, name, isLocked, again) {
  const id = object.objectId;
  const className = h("select", { "aria-label": t("one.as", { name }) }, [...classes.peek().keys()].sort((left, right) => Number(isServerClass(left)) - Number(isServerClass(right))).map((other) => option(other, plain(other, 60))));
  const attempt = (work) => () => work().catch(complain);
  const reset = attempt(async () => {
    await parse.post("requestPasswordReset", { email: object.email }, { isRepeatable: false });
    record(t("one.resetDone", { email: object.email }));
  });
  const lock = attempt(async () => {
    if (!(await confirm({ title: t("one.lock"), text: t("one.lockText", { name }), button: t("one.lock"), isDanger: true }))) return;
    await setAccess(object, {}, t("one.lockDone", { name }), name, again);
  });
  const unlock = attempt(() => setAccess(object, { [id]: { read: true, write: true } }, t("one.unlockDone", { name }), name, again));
  // Harmless actions come first, those that lock the user out last.
  const row = (words, hint, action, ...content) => h(".line.member", h(".grow", h("div", words), h(".quiet", hint)), button(".button", action, ...content));
  return panel(t("one.do"), h(".line.member", h(".grow", labelled(t("one.as", { name }), className)), button(".button.end", () => go(address("data", [className.value], { as: id })), icon("users"), t("one.look"))),
    mayWrite() && [mayChangeClasses() && typeof object.email === "string" && row(t("one.resetTitle"), t("one.resetHint"), reset, icon("push"), t("word.sendMail")),
      row(t("word.password"), t("one.passwordHint"), () => setPassword(id, name, again), icon("lock"), t("one.setPassword")),
      isLocked ? row(t("one.lockTitle"), t("one.locked"), unlock, icon("check"), t("one.unlock")) : row(t("one.lockTitle"), t("one.lockHint"), lock, h("span.bad", t("one.lock")))]);
}

async function setAccess(object, next, words, name, again) {
  const path = objectPath("_User", object.objectId);
  const before = object.ACL;
  const answer = (await parse.put(path, { ACL: next }, { headers: { "X-Roost-If-Updated-At": object.updatedAt } })).body;
  record(words, async () => {
    await parse.put(path, { ACL: before ?? noValue({ type: "ACL" }) }, { headers: { "X-Roost-If-Updated-At": answer.updatedAt } });
    await again();
    return t("one.undone", { name });
  });
  await again();
}

function setPassword(id, name, again) {
  const input = textField({ type: "password", autocomplete: "new-password", autofocus: true });
  return openForm({ title: t("one.setPassword"), button: t("one.setPassword") }, () => ({
    body: labelled(t("word.newPassword"), input),
    async save() {
      if (!input.value) throw new Error(t("word.fillIn"));
      await parse.put("users/" + encodeURIComponent(id), { password: input.value });
      await again();
      record(t("one.passwordDone", { name }));
      return true;
    },
  }));
}

function role(object, again, scope) {
  const id = object.objectId;
  const related = (key) => ({ $relatedTo: { object: pointer("_Role", id), key } });
  const edit = (key, words) => mayWrite() && button(".button", async () => {
    const field = classes.peek().get("_Role").fields.get(key);
    await openDialog({ title: t(words), kind: "sheet" }, (close) => editRelation({ className: "_Role", row: new Row(object), field, close }));
    again();
  }, t(words));
  const links = (kind, className, { results, count = results.length }) => [count > results.length && h("p.quiet", t("one.first", { n: results.length, total: count })),
    results.length === 0 ? h("p.quiet", t("one.none")) : results.map((entry) => h(".line.member", h("a.grow", { href: address("users", [kind, entry.objectId]) }, shown(nameIn(entry), 60))))];
  const nameIn = (entry) => entry.name ?? entry.username ?? entry.objectId;
  return h(".two", h("div",
    panel(t("one.members"), later(scope, async () => links("user", "_User", await find("_User", related("users"), scope, { keys: "username", count: 1 }))), edit("users", "one.changeMembers"))),
  h("div",
    panel(t("one.children"), h("p.quiet", t("one.inside")), later(scope, async () => tree(object, scope)), edit("roles", "one.changeChildren")),
    panel(t("one.parents"), later(scope, async () => links("role", "_Role", await find("_Role", { roles: pointer("_Role", id) }, scope, { keys: "name" })))),
    panel("ACL", h("p", summary(object.ACL).text))));
}

const DEEPEST = 8;
const MOST = 100;

/** Returns the roles inside a role, recursively. A role that leads back is marked and not followed. */
async function tree(top, scope) {
  let asked = 0;
  const inside = async (role, path) => {
    if (asked >= MOST || path.length > DEEPEST) return null;
    asked += 1;
    const { results } = await find("_Role", { $relatedTo: { object: pointer("_Role", role.objectId), key: "roles" } }, scope, { keys: "name" });
    if (results.length === 0) return null;
    return h("ul.names", await Promise.all(results.map(async (child) => {
      const isCircle = path.includes(child.objectId);
      return h("li", h("a", { href: address("users", ["role", child.objectId]) }, shown(child.name ?? child.objectId, 60)),
        isCircle ? h("span.bad", " ", t("one.circle", { role: child.name ?? child.objectId })) : await inside(child, [...path, child.objectId]));
    })));
  };
  return (await inside(top, [top.objectId])) ?? h("p.quiet", t("one.none"));
}
