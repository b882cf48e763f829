/** A page with a list of classes, and next to it the content for one or all of them. */

import { h, put } from "../core/dom.js";
import { route } from "../core/router.js";
import { setTitle } from "../core/session.js";
import { effect, latest } from "../core/signal.js";
import { t } from "../core/words.js";
import { classes, classesProblem, loadClasses, loadCounts } from "../data/schema.js";
import { keepFocus } from "../parts/dialog.js";
import { empty, failed, loading } from "../parts/states.js";
import { classList } from "./data/index.js";

/** Builds the page `name`; `draw(content, className, scope)` fills it when a class is chosen, and when it changes unless it returned a function. */
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
      keepFocus(content, () => { update = draw(content, className, inner); });
      content.querySelector(".scroll")?.scrollTo(0, top ?? 0);
    }
    else put(content, empty({ picture: "search", title: t("classes.none"), text: t("classes.chooseHint") }));
  }, scope);
  return element;
}
