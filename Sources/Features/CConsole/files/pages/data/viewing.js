/** A class as a user or an anonymous client sees it. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { address } from "../../core/router.js";
import { effect } from "../../core/signal.js";
import { addWords, plain, said, t } from "../../core/words.js";
import { pointerField } from "../../data/editors/pointer.js";
import { classes } from "../../data/schema.js";
import { openDialog } from "../../parts/dialog.js";
import { empty } from "../../parts/states.js";
import { nameOfUser } from "../access/eyes.js";

addWords({
  "viewing.title": "View {class} as", "viewing.user": "A user", "viewing.nobody": "Without signing in", "viewing.label": "As {who} sees it",
  "viewing.says": "As {who} sees it: {n} of {total}; {hidden} hidden.",
  "viewing.all": "As {who} sees it: all {total}.", "viewing.fields": "The first lacks {fields}.", "viewing.refused": "{who} sees nothing", "viewing.none": "{who} finds none of the {total} objects.",
});

/** Asks for the user and opens the view. */
export function openViewing(page) {
  return openDialog({ title: t("viewing.title", { class: page.className }) }, (close) => {
    const look = (as) => {
      close();
      page.change({ as });
    };
    const choice = classes.peek()?.has("_User") && pointerField("_User", { label: t("viewing.user"), isOpen: true, picked: ({ objectId }) => look(objectId) });
    return { body: [h(".form", choice && choice.element, button(".button", () => look("anonymous"), icon("users"), t("viewing.nobody")))], foot: [button(".button", () => close(), t("cancel"))] };
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

/** Returns the fields of an object that the server hides from the user. */
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
