/** The permissions of a class as editable sentences, and a form to check the access of one user. */

import { button, h, icon, put, textField } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { mayChangeClasses } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { addWords, plain, said, shown, t } from "../../core/words.js";
import { chips, hiddenSentence, limitsOf, names, OPERATIONS, own, principal } from "../../data/access.js";
import { summary } from "../../data/cells.js";
import { classes, namesChanged } from "../../data/schema.js";
import { keepFocus } from "../../parts/dialog.js";
import { empty } from "../../parts/states.js";
import { classFrame } from "../data/index.js";
import { mayPanel } from "./eyes.js";

addWords({
  "access.class": "Permissions of the class", "access.classHint": "An object's ACL can narrow them.",
  "access.edit": "Edit permission: {operation}", "access.pointers": "More pointer permissions", "access.readFields": "Find and get: {who}",
  "access.writeFields": "Update and delete: {who}", "access.noOne": "no field", "access.editRead": "Edit the fields for find and get",
  "access.editWrite": "Edit the fields for update and delete", "access.hidden": "Hidden fields", "access.nothingHidden": "No field is hidden.",
  "access.hide": "Hide fields from …", "access.editHidden": "Change what is hidden from {who}", "access.new": "Default ACL of new objects",
  "access.editNew": "Edit the default ACL", "access.asks": "Check access", "access.object": "Object id (empty: the whole class)",
  "access.chooseHint": "Choose a class to see and edit its permissions.",
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
    const fresh = summary(own(permissions).get("ACL"), limits);
    put(rules,
      h("section.panel", h("h2", t("access.class")), h("p.quiet", t("access.classHint")), OPERATIONS.map((operation) => operationLine(permissions, operation, edit(t("access.edit", { operation: t("clp." + operation) }), "editOperation", operation)))),
      h("section.panel", h("h2", t("access.pointers")),
        line(t("access.readFields", { who: said(fieldsOf("readUserFields")) }), t("access.editRead"), "editPointers", "readUserFields"),
        line(t("access.writeFields", { who: said(fieldsOf("writeUserFields")) }), t("access.editWrite"), "editPointers", "writeUserFields")),
      h("section.panel", h("h2", t("access.hidden")), shownRules.length === 0 && h("p", t("access.nothingHidden")),
        shownRules.map(([key, fields]) => line(hiddenSentence(key, names(fields)), t("access.editHidden", { who: said(principal(key)) }), "editHidden", key)),
        mayChange && button(".button", async ({ currentTarget }) => (await import("./editors.js")).addHidden(className, currentTarget), icon("plus"), t("access.hide"))),
      h("section.panel", h("h2", t("access.new")), line(h("span", { class: fresh.isOpen ? "warn" : "" }, fresh.text), t("access.editNew"), "editDefault"), limits && h("p.quiet", limits.words)));
  }
  put(content, h("header.head", h("a.plain.back", { href: address("access"), "aria-label": t("classes.label") }, icon("back")), h("h1", shown(className, 80)), h(".space"),
    h("a.button.wide", { href: address("data", [className]) }, t("word.rows")), h("a.button.wide", { href: address("schema", [className]) }, t("rail.schema"))),
  h(".scroll", h(".two", rules, h("section.panel", h("h2", t("access.asks")), h(".form", object, mayPanel(className, () => object.value.trim(), scope))))));
  return update;
}

function operationLine(permissions, operation, edit) {
  return h(".line.member", h("strong.operation", { title: t(`clp.${operation}.means`) }, t("clp." + operation)), h(".grow.chips", chips(permissions, operation)), edit);
}
