/** The command palette: pages, classes, objects by id, actions. */

import { objectPath, parse } from "../core/api.js";
import { debounce, h, icon, put } from "../core/dom.js";
import { list, readable } from "../core/keys.js";
import { address, go, pageAddress, route } from "../core/router.js";
import { addWords, shown, t } from "../core/words.js";
import { classes, loadClasses, namingField } from "../data/schema.js";
import { openDialog, show } from "../parts/dialog.js";

addWords({
  "palette.none": "Nothing has this name or id. Check it, or filter the rows of its class.", "palette.page": "page",
  "palette.class": "class", "palette.in": "in {class}",
});

export function open(pages) {
  if (document.querySelector("dialog.palette")) return;
  if (!classes.peek()) loadClasses();
  const input = h("input", { type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": t("keys.palette"), placeholder: t("keys.palette"), autocomplete: "off", spellcheck: "false" });
  const list = h(".choices", { id: "palette-list", role: "listbox", "aria-label": t("keys.palette") });
  const element = h("dialog.palette", { "aria-label": t("keys.palette") }, input, list);
  let rows = [];
  let chosen = 0;
  let found = [];
  const draw = () => {
    const text = input.value.trim().toLowerCase();
    const fits = (name) => name.toLowerCase().includes(text);
    rows = [
      ...Object.keys(pages).filter((name) => fits(t("rail." + name))).map((name) => ({ words: t("rail." + name), kind: t("palette.page"), icon: pages[name].icon, to: pageAddress(name) })),
      ...[...(classes.peek()?.keys() ?? [])].filter(fits)
        .sort((left, right) => left.toLowerCase().indexOf(text) - right.toLowerCase().indexOf(text))
        .slice(0, 12).map((name) => ({ words: name, kind: t("palette.class"), icon: "columns", to: address("data", [name]) })),
      ...found,
    ];
    if (text) rows.sort((left, right) => Number(!left.words.toLowerCase().startsWith(text)) - Number(!right.words.toLowerCase().startsWith(text)));
    chosen = Math.max(0, Math.min(chosen, rows.length - 1));
    put(list, rows.length ? rows.map((row, index) => h("div", {
      role: "option", id: `palette-${index}`, "aria-selected": String(index === chosen), onclick: () => pick(row),
      onmousemove: () => { if (chosen !== index) { chosen = index; mark(); } },
    }, icon(row.icon), shown(row.words, 80), h("span.quiet", row.kind))) : h(".none", t("palette.none")));
    mark();
  };
  const mark = () => {
    [...list.children].forEach((child, index) => child.setAttribute("aria-selected", String(index === chosen)));
    input.setAttribute("aria-activedescendant", `palette-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const pick = (row) => {
    element.close();
    if (!row) return;
    // The page takes the focus.
    focused = null;
    document.activeElement.blur();
    go(row.to);
    document.querySelector("r-grid")?.focus();
  };
  const search = debounce(180, async () => {
    const text = input.value.trim();
    found = text.length >= 3 ? await findObjects(text) : [];
    if (text === input.value.trim()) draw();
  });
  input.addEventListener("input", () => { chosen = 0; found = []; draw(); search(); });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) chosen = (chosen + step + rows.length) % Math.max(1, rows.length);
    else if (event.key === "Enter") return pick(rows[chosen]);
    else return undefined;
    event.preventDefault();
    return mark();
  });
  let focused = document.activeElement;
  show(element, null, () => true, () => focused?.focus({ preventScroll: true }));
  draw();
  input.focus();
}

/** Finds objects by id or by the beginning of their name, in the open class and in others. */
async function findObjects(text) {
  const all = [...(classes.peek()?.keys() ?? [])].filter((name) => !name.startsWith("_") || name === "_User" || name === "_Role");
  const open = route.peek().parts[0];
  const some = [open, ...all.filter((name) => name !== open)].filter((name) => all.includes(name)).slice(0, /^\w{10}$/.test(text) ? 100 : 12);
  const isId = /^[\w-]{6,40}$/.test(text);
  const answers = await Promise.all(some.map(async (className) => {
    const field = namingField(className);
    const where = [isId && { objectId: text }, field && (className === open || className === "_User") && { [field]: { $regex: `^\\Q${text.replaceAll("\\E", "")}\\E` } }].filter(Boolean);
    if (!where.length) return [];
    try {
      const { body } = await parse.get(objectPath(className), { where: where.length > 1 ? { $or: where } : where[0], keys: field ?? "objectId", limit: 5 });
      return body.results.map((object) => ({
        words: String((field && object[field]) || object.objectId), kind: t("palette.in", { class: className }), icon: "file",
        to: address("data", [className, object.objectId]),
      }));
    } catch {
      return [];
    }
  }));
  return answers.flat();
}

export function openKeys() {
  openDialog({ title: t("keys.title"), kind: "" }, () => ({
    body: h(".keys", list().flatMap(({ title, rows }) => [
      h("h3", title),
      ...rows.flatMap(([words, keys]) => [h("span", words), h("span", keys.split(" / ").map((one) => [h("kbd", readable(one)), " "]))]),
    ])),
  }));
}
