/** With the eyes of a user, or of nobody: who may do what and why, as the server says it, and which objects and fields are there for him. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { latest } from "../../core/signal.js";
import { addWords, plain, said, shown, t } from "../../core/words.js";
import { pointerField } from "../../data/editors/pointer.js";
import { eyesOf } from "../../data/rows.js";
import { classes, learn, nameOf } from "../../data/schema.js";
import { failed, loading } from "../../parts/states.js";
import { principal } from "./model.js";

addWords({
  "may.user": "What may a user do?", "may.anonymous": "And without signing in?", "may.for": "{who} may", "may.nobody": "Who is not signed in",
  "may.yes": "yes", "may.no": "no", "may.some": "some",
  "may.only": "Only objects whose {fields} is {who}", "may.or": "{left} or {right}",
  "may.class": "the class lets {who}", "may.class.only": "the class lets only {who}", "may.class.none": "the class lets nobody",
  "may.acl": "its ACL lets {who}", "may.acl.only": "its ACL lets only {who}", "may.acl.none": "its ACL lets nobody",
  "may.pointer": "{field} is {who}", "may.pointer.none": "{field} is not {name}",
  "may.protected.none": "{field} is hidden", "may.master.none": "only the master key",
});

const ORDER = ["get", "find", "count", "update", "delete", "create", "addField"];

/** Fills an element with what a user, or nobody for null, may do. */
export async function answerFor(host, { user, name, className, objectId, scope }) {
  put(host, loading(3));
  try {
    const { body } = await send("POST", "may", { body: { user, className, objectId: objectId || undefined }, signal: scope, isRepeatable: true });
    const operations = new Map(Object.entries(body.operations));
    put(host, h("h3.label", t("may.for", { who: name })), ORDER.filter((key) => operations.has(key)).map((key) => operation(key, operations.get(key), name)));
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem));
  }
}

/** The question, with the answer below; `idOf` gives the id of an object, or nothing for the class as a whole. */
export function mayPanel(className, idOf, scope) {
  const answer = h(".may", { "aria-live": "polite" });
  const next = latest(scope);
  const ask = (user, name) => answerFor(answer, { user, name, className, objectId: idOf(), scope: next() });
  const anonymous = button(".link", () => ask(null, t("may.nobody")), t("may.anonymous"));
  // Whoever does not see the users can ask about nobody alone.
  if (!classes.peek()?.has("_User")) return h(".form", anonymous, answer);
  const choice = pointerField("_User", { label: t("may.user"), isOpen: true, picked: ({ objectId: user }) => ask(user, choice.input.value) });
  return h(".form", choice.element, anonymous, answer);
}

const listed = (all, words) => said(all.map(words).reduce((left, right) => t("may.or", { left: said(left), right: said(right) })));

/** A rule in words: whom it lets in, or, where it refuses, whom it would let in. */
function reasonWords({ rule, who, field, allows }, name) {
  const kind = who !== undefined ? "" : allows ? ".only" : ".none";
  return t(`may.${rule}${kind}`, { field, name, who: who !== undefined ? said(principal(who)) : allows && listed(allows, principal) });
}

function operation(key, { allowed, limited, because }, name) {
  const answer = limited ? "some" : allowed ? "yes" : "no";
  const reasons = limited ? t("may.only", { fields: listed(because, ({ field }) => plain(field, 60)), who: said(principal(because[0].who)) })
    : because.map((reason) => reasonWords(reason, name)).join("; ");
  const look = new Map([["yes", ["span.flag.on", "check"]], ["some", ["span.flag", "filter"]], ["no", ["span.flag.bad", "close"]]]).get(answer);
  return h(".line", h(look[0], icon(look[1]), h("span.sr", t("may." + answer))), h("strong", t("clp." + key)), h("span.quiet.grow", reasons));
}

addWords({
  "as.user": "View as a user", "as.nobody": "As nobody",
  "as.seen": "Of the last {total} {total|object|objects}, {who} sees {n}.",
  "as.none": "The class has no objects.", "as.refused": "{who} sees nothing: {reason}", "as.sees": "there", "as.absent": "absent",
  "as.whyOf": "Why is {name} absent?", "as.without": "without {fields}", "as.label": "Objects as they are for {who}",
});

const MOST = 100;
const SHORTEN = { "X-Roost-Shorten": "64" };

/** The panel; whose eyes are chosen stands in the address. */
export function viewAs(className, scope) {
  const result = h("div");
  const look = (user) => go(address("access", [className], { as: user }));
  const choice = classes.peek()?.has("_User") && pointerField("_User", { label: t("as.user"), isOpen: true, picked: ({ objectId }) => look(objectId) });
  const user = eyesOf(route.peek().query);
  if (user) show(result, className, user, scope);
  return h(".form", h(".line.wrap", choice && h(".grow.picking", choice.element), button(".button", () => look("anonymous"), t("as.nobody"))), result);
}

async function show(host, className, user, scope) {
  put(host, loading(3));
  const isNobody = user === "anonymous";
  try {
    if (!isNobody) learn("_User", (await parse.get(objectPath("_User", user), { keys: "username" }, { signal: scope })).body);
    const name = isNobody ? t("word.nobodyName") : plain(nameOf("_User", user) || user, 60);
    const { body } = await parse.get(objectPath(className), { limit: MOST, order: "-createdAt" }, { signal: scope, headers: SHORTEN });
    for (const object of body.results) learn(className, object);
    if (body.results.length === 0) {
      put(host, h("p.quiet", t("as.none")));
      return;
    }
    let seen;
    let refusal;
    try {
      const answer = await parse.get(objectPath(className), { where: { objectId: { $in: body.results.map(({ objectId }) => objectId) } }, limit: MOST },
        { signal: scope, headers: { ...SHORTEN, "X-Roost-View-As": user } });
      seen = new Map(answer.body.results.map((object) => [object.objectId, object]));
    } catch (problem) {
      if (scope.aborted || ![400, 401, 403, 404].includes(problem.status)) throw problem;
      [seen, refusal] = [new Map(), problem];
    }
    const sentence = refusal ? t("as.refused", { who: said(name), reason: refusal.message }) : t("as.seen", { total: body.results.length, n: seen.size, who: said(name) });
    put(host, h("section.as", { "aria-label": t("as.label", { who: said(name) }) },
      h(".line", icon("users"), h("p.grow", { role: "status" }, sentence), button(".button", () => go(address("access", [className])), t("word.end"))),
      body.results.map((object) => row(className, object, seen.get(object.objectId), isNobody ? null : user, name, scope))));
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, () => show(host, className, user, scope)));
  }
}

function row(className, object, seen, user, name, scope) {
  const answer = h(".may");
  const objectName = nameOf(className, object.objectId) || object.objectId;
  const missing = seen ? Object.keys(object).filter((key) => !Object.hasOwn(seen, key)) : [];
  const why = h("button.button", { "aria-label": t("as.whyOf", { name: objectName }), onclick: () => answerFor(answer, { user, name, className, objectId: object.objectId, scope }) }, t("word.why"));
  return [h(".line.member", h("span", { class: seen ? "flag on" : "flag bad" }, icon(seen ? "check" : "close"), t(seen ? "as.sees" : "as.absent")),
    h("a.grow", { href: address("data", [className, object.objectId]) }, shown(objectName, 60)),
    missing.length > 0 && h("span.quiet", t("as.without", { fields: missing.join(", ") })), !seen && why), answer];
}
