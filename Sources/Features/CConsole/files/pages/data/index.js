/** The data page: the list of classes, and next to it a class, an object or nothing. Other pages show the list, too. */

import { poll } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, remembered, route } from "../../core/router.js";
import { mayChangeClasses, setTitle } from "../../core/session.js";
import { effect, latest, signal } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { counted } from "../../data/cells.js";
import { changedClass, classes, classesProblem, counts, isServerClass, loadClasses, loadCounts, loadViews, replaceClass, savedViews } from "../../data/schema.js";
import { keepFocus } from "../../parts/dialog.js";
import { empty, failed, loading } from "../../parts/states.js";
import { openClass } from "./class-view.js";

export function open(scope) {
  const content = h("section.content");
  const element = h(".data", classList(scope), content);
  if (!classes.peek()) loadClasses();
  loadCountsLater(scope);
  const next = latest(scope);
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
    const key = JSON.stringify([className, objectId, objectId ? "" : query.get("where"), query.get("order"), query.get("as"), query.get("view"), query.get("view") && savedViews().some(({ id }) => id === query.get("view")), all.get(className)?.fields.size]);
    if (key === shown) return;
    shown = key;
    if (all.has(className)) last = className;
    // On a phone the list comes first, because rows would hide it.
    if (!className && (remembered().isEntry || !hasNoClass()) && matchMedia("(min-width: 640px)").matches) openFullest(content, next());
    else show(content, className, objectId, next());
  }, scope);
  return element;
}

/** Loads the counts and the saved views after the rows. */
function loadCountsLater(scope) {
  const timer = setTimeout(() => {
    loadCounts();
    loadViews();
  }, 300);
  scope.addEventListener("abort", () => clearTimeout(timer));
}

/** The class that was opened last. */
export let last;

/** Opens the last class or the one with the most objects, so that an address without a class shows data immediately. */
async function openFullest(content, scope) {
  if (classes.peek().has(last)) return go(address("data", [last]), true);
  put(content, loading());
  await loadCounts();
  if (scope.aborted) return;
  const objects = (name) => counts.peek().get(name)?.objects ?? 0;
  const [fullest] = [...classes.peek().keys()].filter((name) => !isServerClass(name))
    .sort((left, right) => objects(right) - objects(left));
  go(fullest ? address("data", [fullest]) : address("start"), true);
}

/** Whether the app has no classes of its own. */
export const hasNoClass = () => [...classes.peek().keys()].every(isServerClass);

/** Creates a class and shows it on a page. */
export async function newClass(page) {
  const name = await (await import("../schema/forms.js")).makeClass();
  if (name) go(address(page, [name]));
}

async function show(content, className, objectId, scope) {
  const all = classes.peek();
  setTitle(className);
  const connect = h("a.button", { href: address("start") }, icon("link"), t("classes.connect"));
  if (!className) put(content, empty(hasNoClass()
    ? { title: t("classes.empty"), text: t("classes.emptyHint"), actions: [mayChangeClasses() && button(".button.primary", () => newClass("data"), icon("plus"), t("classes.new")), connect] }
    : { title: t("classes.choose"), text: t("classes.chooseHint"), actions: [connect] }));
  else if (!all.has(className)) put(content, noClass(className));
  else if (objectId) {
    put(content, loading());
    const { openObject } = await import("./object-view.js");
    if (!scope.aborted) openObject(content, className, objectId, scope);
  } else openClass(content, className, scope);
}

const noClass = (className) => empty({ picture: "search", title: t("classes.missing", { class: className }), text: t("page.check"), actions: [h("a.button", { href: address("schema") }, t("word.allClasses"))] });

/** Creates the searchable list of classes of a page. */
export function classList(scope, page = "data") {
  const wanted = signal("");
  const input = h("input", {
    type: "search", placeholder: t("classes.find"), "aria-label": t("classes.find"), autocomplete: "off", spellcheck: "false",
    oninput: () => wanted.set(input.value.trim().toLowerCase()),
    onkeydown: (event) => {
      if (event.key === "Enter") list.querySelector("a")?.click();
      else if (event.key === "Escape" && input.value) { input.value = ""; wanted.set(""); }
      else if (event.key === "ArrowDown") list.querySelector("a")?.focus();
      else return;
      event.preventDefault();
    },
  });
  const list = h(".list", { onkeydown: walk });
  let shownClass;
  // Rows offer new fields instead, because the operator may be editing one.
  poll(async () => {
    await loadCounts();
    const [className] = route.peek().parts;
    const changed = page !== "data" && className && await changedClass(className);
    if (changed) replaceClass(changed);
  }, scope);
  addKeys(t("classes.label"), { "/": { words: t("classes.find"), do: () => input.focus() } }, scope);
  effect(() => {
    const all = classes();
    const numbers = counts();
    const { parts, query } = route();
    const text = wanted();
    const views = savedViews();
    if (!all) {
      put(list, loading(6));
      return;
    }
    const names = [...all.keys()].filter((name) => name.toLowerCase().includes(text));
    const link = (className) => [
      h("a.class", { href: address(page, [className]), title: plain(className), "aria-current": parts[0] === className && !query.get("view") ? "page" : null },
        h("span.name", shown(className, 60)), numbers.has(className) && h("span.quiet", counted(numbers.get(className)))),
      ...views.filter((view) => page === "data" && view.className === className).map((view) => h("a.class.view", {
        href: address("data", [className], { where: view.where && JSON.stringify(view.where), order: view.order, view: view.id }), title: plain(view.name),
        "aria-current": query.get("view") === view.id ? "page" : null,
      }, icon("bookmark"), h("span.name", shown(view.name, 60)), view.count !== undefined && h("span.quiet", counted({ objects: view.count })))),
    ];
    const focused = list.contains(document.activeElement) && document.activeElement.getAttribute("href");
    const own = names.filter((name) => !isServerClass(name));
    const server = names.filter(isServerClass);
    put(list, own.map(link), server.length > 0 && h("h2.label", t("rail.of.server")), server.map(link),
      names.length === 0 && h("p.none", t("classes.none")));
    if (focused) [...list.querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus({ preventScroll: true });
    if (shownClass !== parts[0]) list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    shownClass = parts[0];
  }, scope);
  const add = button(".plain.new", () => newClass(page), icon("plus"), t("classes.new"));
  effect(() => { add.hidden = !mayChangeClasses(); }, scope);
  const title = h("h1", t("rail." + page));
  effect(() => { title.hidden = Boolean(route().parts[0]) || page === "schema"; }, scope);
  return h("nav.classes", { "aria-label": t("classes.label") }, h(".find", title, input), list, h(".foot", add));
}

function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const links = [...event.currentTarget.querySelectorAll("a")];
  links[links.indexOf(document.activeElement) + step]?.focus();
  event.preventDefault();
}

/** Builds a page with the list; `draw(content, className, scope)` fills it when a class is chosen, and when it changes unless it returned a function. */
export function classFrame(name, scope, draw) {
  const content = h("section.content");
  const element = h(".data", classList(scope, name), content);
  if (!classes.peek()) loadClasses();
  loadCounts();
  const next = latest(scope);
  let shown;
  let shownQuery;
  let shownClass;
  let update;
  effect(() => {
    const { page, parts, query } = route();
    const all = classes();
    if (page !== name) return;
    const [className] = parts;
    element.classList.toggle("open", Boolean(className) || name === "schema");
    if (!all) {
      put(content, classesProblem() ? failed(classesProblem(), loadClasses) : loading());
      return;
    }
    const description = className ? all.get(className) : all;
    const key = query.toString();
    const isSame = description && shownClass === className && shownQuery === key;
    if (isSame && shown === description) return;
    [shown, shownQuery] = [description, key];
    if (isSame && update) return update();
    update = undefined;
    const inner = next();
    setTitle(className, t("rail." + name));
    // A changed page keeps its scroll position.
    const top = className === shownClass ? content.querySelector(".scroll")?.scrollTop : 0;
    shownClass = className;
    if (description) {
      last = className ?? last;
      keepFocus(content, () => { update = draw(content, className, inner); });
      content.querySelector(".scroll")?.scrollTo(0, top ?? 0);
    }
    else put(content, noClass(className));
  }, scope);
  return element;
}
