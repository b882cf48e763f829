/** Shows what a user or an anonymous client may do with a class or object, and why, as reported by the server. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { address, route } from "../../core/router.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, plain, said, t } from "../../core/words.js";
import { pointerField } from "../../data/editors/pointer.js";
import { eyesOf } from "../../data/rows.js";
import { classes, learn, nameOf } from "../../data/schema.js";
import { failed, loading } from "../../parts/states.js";
import { principal } from "./model.js";

addWords({
  "may.user": "Check a user's access", "may.anonymous": "Check without signing in", "may.for": "{who} may", "may.nobody": "Without signing in", "may.yes": "yes",
  "may.no": "no", "may.some": "some", "may.only": "Only objects whose {fields} is {who}", "may.or": "{left} or {right}", "may.class": "the class lets {who}",
  "may.class.only": "the class lets only {who}", "may.class.none": "the class lets nobody", "may.acl": "its ACL lets {who}",
  "may.acl.only": "its ACL lets only {who}", "may.acl.none": "its ACL lets nobody", "may.pointer": "{field} is {who}",
  "may.pointer.none": "{field} is not {name}", "may.protected.none": "{field} is hidden", "may.master.none": "only the master key",
  "may.rows": "View rows with this access",
});

const ORDER = ["get", "find", "count", "update", "delete", "create", "addField"];

/** Fills an element with the permissions of a user, or of an anonymous client if `user` is null. */
export async function answerFor(host, { user, name, className, objectId, scope }) {
  put(host, loading(3));
  try {
    const { body } = await send("POST", "may", { body: { user, className, objectId: objectId || undefined }, signal: scope, isRepeatable: true });
    const operations = new Map(Object.entries(body.operations));
    put(host, h("h3.label", user ? t("may.for", { who: name }) : name), ORDER.filter((key) => operations.has(key)).map((key) => operation(key, operations.get(key), name)),
      !objectId && h("p", h("a", { href: address("data", [className], { as: user ?? "anonymous" }) }, t("may.rows"))));
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem));
  }
}

/** Creates the form with the answer below; `idOf` returns the id of an object, or nothing for the whole class. */
export function mayPanel(className, idOf, scope) {
  const answer = h(".may", { "aria-live": "polite" });
  const next = latest(scope);
  let again;
  const ask = (user, name) => (again = () => answerFor(answer, { user, name, className, objectId: idOf(), scope: next() }))();
  let known;
  effect(() => {
    const now = classes()?.get(className);
    if (now !== known) again?.();
    known = now;
  }, scope);
  const nobody = () => {
    choice?.clear();
    ask(null, t("may.nobody"));
  };
  const anonymous = button(".link", nobody, t("may.anonymous"));
  // An operator who can't read users can only ask about anonymous clients.
  const choice = classes.peek()?.has("_User") && pointerField("_User", { label: t("may.user"), isOpen: true, picked: ({ objectId: user }) => ask(user, choice.input.value) });
  // If the operator comes from a user's view of rows, that user is preselected.
  const eyes = eyesOf(route.peek().query);
  if (eyes === "anonymous") nobody();
  else if (eyes) nameOfUser(eyes, scope).then((name) => ask(eyes, name));
  return h(".form", choice && choice.element, anonymous, answer);
}

/** Returns the name of a user, or the id if there is no name. */
export async function nameOfUser(id, scope) {
  await parse.get(objectPath("_User", id), { keys: "username" }, { signal: scope }).then(({ body }) => learn("_User", body), () => {});
  return plain(nameOf("_User", id) || id, 60);
}

const listed = (all, words) => said(all.map(words).reduce((left, right) => t("may.or", { left: said(left), right: said(right) })));

/** Describes whom a rule allows or, if it denies access, whom it would allow. */
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
