/** Who may do what on an object or a class, and why: the server says it, by the rules of the operations themselves. */

import { send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { latest } from "../../core/signal.js";
import { addWords, said, t } from "../../core/words.js";
import { who } from "../../data/cells.js";
import { pointerField } from "../../data/editors/pointer.js";
import { classes } from "../../data/schema.js";
import { failed, loading } from "../../parts/states.js";

addWords({
  "may.user": "What may a user do?",
  "may.anonymous": "And without signing in?",
  "may.for": "{who} may",
  "may.nobody": "Who is not signed in",
  "may.get": "Read", "may.find": "Find", "may.count": "Count", "may.create": "Create", "may.update": "Change", "may.delete": "Delete",
  "may.addField": "Add fields",
  "may.yes": "yes", "may.no": "no",
  "may.loggedIn": "logged-in users",
  "may.class.yes": "the class lets {who}", "may.class.no": "the class does not",
  "may.acl.yes": "its ACL lets {who}", "may.acl.no": "its ACL does not",
  "may.pointer.yes": "{field} points to {who}", "may.pointer.no": "{field} points to another",
  "may.protected.yes": "{field} is hidden", "may.protected.no": "{field} is hidden",
  "may.master.yes": "the master key", "may.master.no": "only the master key",
});

const ORDER = ["get", "find", "count", "update", "delete", "create", "addField"];

/** Fills an element with what a user, or nobody for null, may do. */
export async function answerFor(host, { user, name, className, objectId, scope }) {
  put(host, loading(3));
  try {
    const { body } = await send("POST", "may", { body: { user, className, objectId: objectId || undefined }, signal: scope, isRepeatable: true });
    const operations = new Map(Object.entries(body.operations));
    put(host, h("h3.label", t("may.for", { who: name })), ORDER.filter((key) => operations.has(key)).map((key) => operation(key, operations.get(key))));
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

function operation(key, { allowed, because }) {
  const answer = allowed ? "yes" : "no";
  const reasons = because.map(({ rule, who: key, field }) => t(`may.${rule}.${key === undefined ? "no" : "yes"}`, {
    field, who: said(key === "authenticated" ? t("may.loggedIn") : key === undefined ? "" : who(key)),
  }));
  return h(".line", h(allowed ? "span.flag.on" : "span.flag.bad", icon(allowed ? "check" : "close"), h("span.sr", t("may." + answer))),
    h("strong", t("may." + key)), h("span.quiet.grow", reasons.join("; ")));
}
