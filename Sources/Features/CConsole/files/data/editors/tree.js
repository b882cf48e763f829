/** A JSON value as a tree with collapsible members and editable simple values. */

import { button, h, icon, iconButton, put } from "../../core/dom.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { drawValue } from "../cells.js";
import { typeOf } from "../schema.js";
import { copy, setOwn } from "../values.js";

addWords({
  "tree.edit": "Edit {key}", "tree.remove": "Remove {key}", "tree.open": "Open {key}",
});

const SOME = 100;
const isBranch = (value) => ["Object", "Array"].includes(typeOf(value));

/** Creates `{ element, show(value) }`. `changed(value)` is called with the whole value after an edit; without it the tree is read-only. */
export function tree(value, changed) {
  const element = h(".tree", { role: "tree", tabIndex: -1 });
  const opened = new Set([""]);
  let whole = value;
  const show = (next) => {
    whole = next;
    put(element, members(whole, []));
  };
  const at = (root, path) => path.reduce((inner, key) => inner[key], root);
  const change = (path, apply) => {
    const next = copy(whole);
    apply(at(next, path.slice(0, -1)), path.at(-1));
    show(next);
    changed(next);
  };
  const members = (branch, path) => {
    const entries = Array.isArray(branch) ? branch.map((item, index) => [index, item]) : Object.entries(branch);
    const rows = entries.slice(0, SOME).map(([key, item]) => member(key, item, [...path, key]));
    if (entries.length > SOME) {
      const more = button(".link", () => {
        more.replaceWith(...entries.splice(0, SOME * 5 + SOME).slice(SOME).map(([key, item]) => member(key, item, [...path, key])), ...(entries.length > 0 ? [more] : []));
        more.textContent = t("word.more", { n: entries.length });
      }, t("word.more", { n: entries.length - SOME }));
      rows.push(more);
    }
    return rows;
  };
  const member = (key, item, path) => {
    const name = JSON.stringify(path);
    const label = h("span.key", shown(String(key), 60));
    const actions = changed && [
      !isBranch(item) && iconButton("code", t("tree.edit", { key: String(key) }), (event) => editLeaf(event, item, path)),
      iconButton("close", t("tree.remove", { key: String(key) }), () => change(path, (parent, last) => (Array.isArray(parent) ? parent.splice(last, 1) : delete parent[last]))),
    ];
    if (!isBranch(item)) {
      return h(".leaf", { role: "treeitem" }, label, h("span.leaf-value", { ondblclick: (event) => changed && editLeaf(event, item, path) }, drawValue(item)), h("span.actions", actions));
    }
    const inside = h(".inside", { role: "group", hidden: !opened.has(name) });
    const toggle = h("button.branch", { "aria-expanded": String(opened.has(name)), "aria-label": t("tree.open", { key: String(key) }), onclick: () => {
      const isOpen = inside.hidden;
      inside.hidden = !isOpen;
      toggle.setAttribute("aria-expanded", String(isOpen));
      if (isOpen) opened.add(name);
      else opened.delete(name);
      if (isOpen && !inside.childElementCount) put(inside, members(item, path));
    } }, icon("chevron"), label, h("span.tag", Array.isArray(item) ? t("cell.items", { n: item.length }) : t("cell.keys", { n: Object.keys(item).length })));
    if (opened.has(name)) put(inside, members(item, path));
    return h(".node", { role: "treeitem" }, h(".leaf", toggle, h("span.actions", actions)), inside);
  };
  const editLeaf = (event, item, path) => {
    const row = event.currentTarget.closest(".leaf");
    const start = typeof item === "string" ? item : JSON.stringify(item);
    const input = h("input", { value: start, "aria-label": plain(path.join(".")) });
    const place = row.querySelector(".leaf-value");
    let isDone = false;
    const finish = (isDropped = false) => {
      if (isDone) return;
      isDone = true;
      if (isDropped || input.value === start) {
        put(place, drawValue(item));
        return;
      }
      let next = input.value;
      if (typeof item !== "string") {
        try {
          next = JSON.parse(input.value);
        } catch {
          next = input.value;
        }
      }
      change(path, (parent, last) => (Array.isArray(parent) ? parent.splice(last, 1, next) : setOwn(parent, last, next)));
    };
    input.addEventListener("keydown", (key) => {
      if (key.key === "Enter") finish();
      else if (key.key === "Escape") finish(true);
      else return;
      // The field no longer exists, so the dialog's shortcuts need the focus here.
      element.focus();
      // Ctrl+Enter saves the whole value, including this edit.
      if (key.key === "Enter" && (key.ctrlKey || key.metaKey)) return;
      key.preventDefault();
      key.stopPropagation();
    });
    // Moving on to the save button keeps the typed value.
    input.addEventListener("blur", () => finish());
    put(place, input);
    input.focus();
  };
  show(value);
  return { element, show };
}
