/** The trash: objects deleted in the console, and their restoration. */

import { send } from "../../core/api.js";
import { button, h, icon, option, put } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, ago, date, plain, shown, t } from "../../core/words.js";
import { restoreEntry } from "../../data/batches.js";
import { tree } from "../../data/editors/tree.js";
import { openDialog } from "../../parts/dialog.js";
import { complain, empty, failed, loading, record } from "../../parts/states.js";

addWords({
  "trash.hint": "Objects deleted in the console, kept for 30 days. Files, fields and classes are not kept.", "trash.empty": "The trash is empty", "trash.restore": "Restore",
  "trash.show": "Show {name}", "trash.one": "The object", "trash.restored": "{name} is back in {class}", "trash.restoredWithout": "{name} is back in {class}, without {fields}, which no longer fit the class", "trash.by": "by {who}",
});

export function open(scope) {
  const list = h(".trash-list", loading());
  const filter = h("select", { "aria-label": t("word.class"), onchange: () => go(address("trash", filter.value ? [filter.value] : [])) });
  const element = h(".page", h("header.head", h("h1", t("rail.trash")), h("span.quiet.words", t("trash.hint")), h(".space"), filter), list);
  const next = latest(scope);
  effect(() => {
    const { page, parts } = route();
    // An earlier request must not finish after a later one.
    if (page === "trash") read(list, filter, parts[0], next());
  }, scope);
  return element;
}

async function read(list, filter, className, scope) {
  try {
    const { body } = await send("GET", "trash", { query: { className }, signal: scope });
    const names = new Set([...body.objects.map((entry) => entry.className), ...[...filter.options].map(({ value }) => value).filter(Boolean), ...(className ? [className] : [])]);
    put(filter, option("", t("word.allClasses")), [...names].sort().map((name) => option(name, plain(name, 60), name === className)));
    if (body.objects.length === 0) {
      put(list, empty({ picture: "trash", title: t("trash.empty"), text: t("trash.hint") }));
      return;
    }
    put(list, body.objects.map((entry) => row(entry, () => read(list, filter, className, scope))));
  } catch (problem) {
    if (!scope.aborted) put(list, failed(problem, () => read(list, filter, className, scope)));
  }
}

function row(entry, again) {
  const name = plain(entry.name || entry.objectId, 60);
  const restore = async (event) => {
    event.currentTarget.disabled = true;
    try {
      const dropped = (await restoreEntry(entry.id)).join(", ");
      record(t(dropped ? "trash.restoredWithout" : "trash.restored", { name: entry.name ? name : t("trash.one"), class: entry.className, fields: dropped }), undefined, undefined, { words: t("word.open"), do: () => go(address("data", [entry.className, entry.objectId])) });
    } catch (problem) {
      complain(problem);
    }
    again();
  };
  return h(".trash-row",
    h("button.what", { "aria-label": t("trash.show", { name }), onclick: () => show(entry, name) },
      shown(entry.name || entry.objectId, 80),
      h("span.quiet", h("bdi", plain(entry.className, 40)), " \u00b7 ", h("code", plain(entry.objectId, 24)))),
    h("span.quiet.when", h("time", { title: date(entry.deletedAt, true) }, ago(entry.deletedAt)), entry.operator && ` ${t("trash.by", { who: typeof entry.operator === "string" ? entry.operator : entry.operator.name })}`),
    mayWrite() && button(".button", restore, icon("undo"), t("trash.restore")));
}

function show(entry, name) {
  openDialog({ title: name, kind: "sheet" }, () => ({ body: tree(entry.object ?? {}).element }));
}
