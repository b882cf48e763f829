/** The data page: the classes, and beside them one class, one object, or nothing yet. */

import { h, put } from "../../core/dom.js";
import { route } from "../../core/router.js";
import { session } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { plain, t } from "../../core/words.js";
import { classes, classesProblem, loadClasses, loadCounts, loadViews, savedViews } from "../../data/schema.js";
import { empty, failed, loading } from "../../parts/states.js";
import { classList } from "./class-list.js";
import { openClass } from "./class-view.js";

/** Opens the page until `scope` ends. */
export function open(scope) {
  const content = h("section.content");
  const element = h(".data", classList(scope), content);
  if (!classes.peek()) loadClasses();
  loadCountsLater(scope);
  let control;
  let shown;
  effect(() => {
    const { parts, page, query } = route();
    const all = classes();
    if (page !== "data") return;
    const [className, objectId] = parts;
    element.classList.toggle("open", Boolean(className));
    if (!all) {
      shown = undefined;
      put(content, classesProblem() ? failed(classesProblem(), loadClasses) : loading());
      return;
    }
    const key = JSON.stringify([className, objectId, objectId ? "" : query.get("where"), query.get("order"), query.get("view"), query.get("view") && savedViews().some(({ id }) => id === query.get("view")), all.get(className)?.fields.size]);
    if (key === shown) return;
    shown = key;
    control?.abort();
    control = new AbortController();
    scope.addEventListener("abort", () => control.abort());
    show(content, className, objectId, control.signal);
  }, scope);
  return element;
}

/** Rows come before counts. */
function loadCountsLater(scope) {
  const timer = setTimeout(() => {
    loadCounts();
    loadViews();
  }, 300);
  scope.addEventListener("abort", () => clearTimeout(timer));
}

async function show(content, className, objectId, scope) {
  const all = classes.peek();
  const { appName, appId } = session.peek().server;
  document.title = [className && plain(className), plain(appName || appId)].filter(Boolean).join(" \u00b7 ");
  if (!className) put(content, empty(all.size === 0
    ? { picture: "data", title: t("classes.empty"), text: t("classes.emptyHint") }
    : { picture: "data", title: t("classes.choose"), text: t("classes.chooseHint") }));
  else if (!all.has(className)) put(content, empty({ picture: "search", title: t("classes.none"), text: "" }));
  else if (objectId) {
    put(content, loading());
    const { openObject } = await import("./object-view.js");
    if (!scope.aborted) openObject(content, className, objectId, scope);
  } else openClass(content, className, scope);
}
