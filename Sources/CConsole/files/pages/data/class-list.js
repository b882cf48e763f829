/** The list of classes with their numbers of objects. */

import { button, h, icon, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, go, route } from "../../core/router.js";
import { mayChangeClasses } from "../../core/session.js";
import { effect, signal } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { counted } from "../../data/cells.js";
import { classes, counts, isServerClass, savedViews } from "../../data/schema.js";
import { loading } from "../../parts/states.js";

/** The list, with a field to find one. */
export function classList(scope) {
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
  addKeys(t("classes.label"), { "/": { words: t("keys.find"), do: () => input.focus() } }, scope);
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
      h("a.class", { href: address("data", [className]), title: plain(className), "aria-current": parts[0] === className && !query.get("view") ? "page" : null },
        h("span.name", shown(className, 60)), numbers.has(className) && h("span.quiet", counted(numbers.get(className)))),
      ...views.filter((view) => view.className === className).map((view) => h("a.class.view", {
        href: address("data", [className], { where: view.where && JSON.stringify(view.where), order: view.order, view: view.id }), title: plain(view.name),
        "aria-current": query.get("view") === view.id ? "page" : null,
      }, icon("bookmark"), h("span.name", shown(view.name, 60)), view.count !== undefined && h("span.quiet", counted({ objects: view.count })))),
    ];
    const own = names.filter((name) => !isServerClass(name));
    const server = names.filter(isServerClass);
    put(list, own.map(link), server.length > 0 && h("h2.label", t("classes.server")), server.map(link),
      names.length === 0 && h("p.none", t("classes.none")));
    if (shownClass !== parts[0]) list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
    shownClass = parts[0];
  }, scope);
  const add = button(".plain.new", async () => {
    const { makeClass } = await import("./new-class.js");
    const name = await makeClass();
    if (name) go(address("data", [name]));
  }, icon("plus"), t("classes.new"));
  effect(() => { add.hidden = !mayChangeClasses(); }, scope);
  return h("nav.classes", { "aria-label": t("classes.label") }, h(".find", input), list, h(".foot", add));
}

function walk(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const links = [...event.currentTarget.querySelectorAll("a")];
  links[links.indexOf(document.activeElement) + step]?.focus();
  event.preventDefault();
}
