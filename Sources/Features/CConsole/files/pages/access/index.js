/** The permissions of a class as editable sentences, a form to check the access of one user, and rows as that user sees them. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, put, textField } from "../../core/dom.js";
import { address, route } from "../../core/router.js";
import { mayChangeClasses } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, plain, said, shown, t } from "../../core/words.js";
import { chips, hiddenSentence, limitsOf, names, OPERATIONS, own, principal } from "../../data/access.js";
import { summary } from "../../data/cells.js";
import { pointerField } from "../../data/editors/pointer.js";
import { eyesOf } from "../../data/rows.js";
import { classes, learn, nameOf, namesChanged } from "../../data/schema.js";
import { keepFocus, openDialog } from "../../parts/dialog.js";
import { empty, loading, reading } from "../../parts/states.js";
import { classFrame } from "../data/index.js";

addWords({
  "access.class": "Permissions of the class", "access.classHint": "The permissions of an object (its ACL) can narrow them.",
  "access.edit": "Edit permission: {operation}", "access.pointers": "Also allowed: the users in these fields", "access.readFields": "Find and get: {who}",
  "access.writeFields": "Update and delete: {who}", "access.noOne": "no field", "access.editRead": "Edit the fields for find and get",
  "access.editWrite": "Edit the fields for update and delete", "access.hidden": "Hidden fields", "access.nothingHidden": "No field is hidden.",
  "access.hide": "Hide fields from …", "access.editHidden": "Change what is hidden from {who}", "access.new": "Permissions of new objects (default ACL)",
  "access.editNew": "Edit the default ACL", "access.asks": "Check access", "access.object": "Object id (empty: the whole class)",
  "access.chooseHint": "Choose a class to see its permissions.",
});

export function open(scope) {
  return classFrame("access", scope, (content, className, inner) => (className ? showClass(content, className, inner)
    : void put(content, empty({ picture: "shield", title: t("classes.choose"), text: t("access.chooseHint") }))));
}

function showClass(content, className, scope) {
  let permissions;
  const mayChange = mayChangeClasses();
  // The editors are loaded with the first change.
  const edit = (words, name, ...more) => mayChange && h("button.plain", {
    "aria-label": words, title: words, onclick: async () => (await import("./editors.js"))[name](className, ...more),
  }, icon("config"));
  const rules = h("div");
  const object = textField({ "aria-label": t("access.object"), placeholder: t("access.object") });
  const line = (sentence, ...change) => h(".line.member", h(".grow", sentence), edit(...change));
  const fieldsOf = (key) => names(own(permissions).get(key)).map((name) => plain(name, 40)).join(", ") || t("access.noOne");
  const update = () => keepFocus(rules, draw);
  effect(() => {
    namesChanged();
    update();
  }, scope);
  function draw() {
    ({ permissions } = classes.peek().get(className));
    const shownRules = [...own(own(permissions).get("protectedFields"))].filter(([key, fields]) => key !== "*" || names(fields).length > 0);
    const limits = limitsOf(permissions);
    const fresh = summary(own(permissions).get("ACL"), limits.isLimited);
    put(rules,
      h("section.panel", h("h2", t("access.class")), h("p.quiet", t("access.classHint")), OPERATIONS.map((operation) => h(".line.member",
        h("strong.operation", { title: t(`clp.${operation}.means`) }, t("clp." + operation)), h(".grow.chips", chips(permissions, operation)), edit(t("access.edit", { operation: t("clp." + operation) }), "editOperation", operation)))),
      h("section.panel", h("h2", t("access.pointers")),
        line(t("access.readFields", { who: said(fieldsOf("readUserFields")) }), t("access.editRead"), "editPointers", "readUserFields"),
        line(t("access.writeFields", { who: said(fieldsOf("writeUserFields")) }), t("access.editWrite"), "editPointers", "writeUserFields")),
      h("section.panel", h("h2", t("access.hidden")), shownRules.length === 0 && h("p", t("access.nothingHidden")),
        shownRules.map(([key, fields]) => line(hiddenSentence(key, names(fields)), t("access.editHidden", { who: said(principal(key)) }), "editHidden", key)),
        mayChange && button(".button", async ({ currentTarget }) => (await import("./editors.js")).addHidden(className, currentTarget), icon("plus"), t("access.hide"))),
      h("section.panel", h("h2", t("access.new")), line(h("span", { class: fresh.isOpen ? "warn" : "" }, fresh.text), t("access.editNew"), "editDefault"), limits.words && h("p.quiet", limits.words)));
  }
  put(content, h("header.head", h("a.plain.back", { href: address("access"), "aria-label": t("classes.label") }, icon("back")), h("h1", shown(className, 80)), h(".space"),
    h("a.button.wide", { href: address("data", [className]) }, t("word.rows")), h("a.button.wide", { href: address("schema", [className]) }, t("rail.schema"))),
  h(".scroll", h(".two", rules, h("section.panel", h("h2", t("access.asks")), h(".form", object, mayPanel(className, () => object.value.trim(), scope))))));
  return update;
}

addWords({
  "may.user": "Check a user's access", "may.anonymous": "Check without signing in", "may.for": "{who} may", "may.nobody": "Without signing in", "may.yes": "yes",
  "may.no": "no", "may.some": "some", "may.only": "Only objects whose {fields} is {who}", "may.or": "{left} or {right}", "may.class": "the class allows {who}",
  "may.class.only": "the class allows only {who}", "may.class.none": "the class allows nobody", "may.acl": "its ACL allows {who}", "may.acl.open": "no ACL limits it",
  "may.acl.only": "its ACL allows only {who}", "may.acl.none": "its ACL allows nobody", "may.pointer": "{field} is {who}",
  "may.pointer.none": "{field} is not {name}", "may.protected.none": "{field} is hidden", "may.master.none": "only the master key",
  "may.rows": "View rows with this access",
  "viewing.title": "View {class} as", "viewing.user": "A user", "viewing.label": "As {who} sees it",
  "viewing.says": "As {who} sees it: {n} of {total}; {hidden} hidden.",
  "viewing.all": "As {who} sees it: all {total}.", "viewing.fields": "The first object is shown without {fields}.", "viewing.refused": "{who} sees nothing", "viewing.none": "{who} finds none of the {total} objects.",
});

const ORDER = ["get", "find", "count", "update", "delete", "create", "addField"];

/** Fills an element with the permissions of a user, or of an anonymous client if `user` is null. */
async function answerFor(host, { user, name, className, objectId, scope }) {
  put(host, loading(3));
  await reading(host, scope, async () => {
    const { body } = await send("POST", "may", { body: { user, className, objectId: objectId || undefined }, signal: scope, isRepeatable: true });
    const operations = new Map(Object.entries(body.operations));
    put(host, h("h3.label", user ? t("may.for", { who: name }) : name), ORDER.filter((key) => operations.has(key)).map((key) => operation(key, operations.get(key), name)),
      !objectId && h("p", h("a", { href: address("data", [className], { as: user ?? "anonymous" }) }, t("may.rows"))));
  });
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

async function nameOfUser(id, scope) {
  await parse.get(objectPath("_User", id), { keys: "username" }, { signal: scope }).then(({ body }) => learn("_User", body), () => {});
  return plain(nameOf("_User", id) || id, 60);
}

const listed = (all, words) => said(all.map(words).reduce((left, right) => t("may.or", { left: said(left), right: said(right) })));

/** Describes whom a rule allows or, if it denies access, whom it would allow. */
function reasonWords({ rule, who, field, allows }, name) {
  // An object without an ACL is open, too.
  const kind = who !== undefined ? (rule === "acl" && who === "*" ? ".open" : "") : allows ? ".only" : ".none";
  return t(`may.${rule}${kind}`, { field, name, who: who !== undefined ? said(principal(who)) : allows && listed(allows, principal) });
}

function operation(key, { allowed, limited, because }, name) {
  const answer = limited ? "some" : allowed ? "yes" : "no";
  const reasons = limited ? t("may.only", { fields: listed(because, ({ field }) => plain(field, 60)), who: said(principal(because[0].who)) })
    : because.map((reason) => reasonWords(reason, name)).join("; ");
  const look = new Map([["yes", ["span.flag.on", "check"]], ["some", ["span.flag", "filter"]], ["no", ["span.flag.bad", "close"]]]).get(answer);
  return h(".line", h(look[0], icon(look[1]), h("span.sr", t("may." + answer))), h("strong", t("clp." + key)), h("span.quiet.grow", reasons));
}

/** Asks for the user and opens the view. */
export function openViewing(page) {
  return openDialog({ title: t("viewing.title", { class: page.className }) }, (close) => {
    const look = (as) => {
      close();
      page.change({ as });
    };
    const choice = classes.peek()?.has("_User") && pointerField("_User", { label: t("viewing.user"), isOpen: true, picked: ({ objectId }) => look(objectId) });
    return { body: [h(".form", choice && choice.element, button(".button", () => look("anonymous"), icon("users"), t("may.nobody")))], foot: [button(".button", () => close(), t("cancel"))] };
  });
}

const whyLink = ({ className, as }) => h("a.button", { href: address("access", [className], { as }) }, t("word.why"));
const endButton = (page) => button(".button", () => page.change({ as: undefined }), t("word.end"));

/** Fills the line above the rows: the number of rows that the user can read, and the hidden fields. */
export async function tellViewing(page) {
  const { as, scope } = page;
  const [words, fields] = [h("p.grow", { role: "status" }), h("span")];
  put(page.viewing, icon("users"), words, fields, whyLink(page), endButton(page));
  const who = said(await nameIt(page));
  put(words, t("viewing.label", { who }));
  const total = await totalOf(page);
  let first;
  effect(() => {
    const rows = page.current();
    rows.changed();
    if (!rows.isCounted || rows.problem || total === undefined) return;
    const id = rows.at(0)?.id;
    if (id && id !== first) {
      first = id;
      hiddenFields(page, id).then((hidden) => put(fields, hidden.length > 0 && t("viewing.fields", { fields: hidden.join(", ") })));
    }
    put(words, t(rows.total < total ? "viewing.says" : "viewing.all", { who, n: rows.total, total, hidden: total - rows.total }));
  }, scope);
}

const totalOf = ({ className, where, scope }) => parse.get(objectPath(className), { where, count: 1, limit: 0 }, { signal: scope }).then(({ body }) => body.count, () => undefined);

const nameIt = ({ as, scope }) => (as === "anonymous" ? t("word.nobodyName") : nameOfUser(as, scope));

async function hiddenFields({ as, className, scope }, objectId) {
  try {
    const { body } = await send("POST", "may", { body: { user: as === "anonymous" ? null : as, className, objectId }, signal: scope, isRepeatable: true });
    return [...new Set(Object.values(body.operations).flatMap(({ because }) => because.filter(({ rule, field }) => rule === "protected" && field).map(({ field }) => field)))];
  } catch {
    return [];
  }
}

/** Shows that the user may not even query the class (`problem`), or finds nothing. */
export async function showRefusal(page, problem) {
  const [who, total] = await Promise.all([nameIt(page), !problem && totalOf(page)]);
  if (page.scope.aborted || page.rows.length > 0) return;
  put(page.body, empty({ picture: "lock", title: t(total ? "viewing.none" : "viewing.refused", { who: said(who), total }), text: plain(problem?.message ?? "", 300), actions: [whyLink(page), endButton(page)] }));
}
