/** Finds the object that a pointer is to lead to, by the beginning of its name or by its id. */

import { objectPath, parse } from "../../core/api.js";
import { debounce, h, put, textField } from "../../core/dom.js";
import { latest } from "../../core/signal.js";
import { plain, shown, t } from "../../core/words.js";
import { SHORTEN } from "../rows.js";
import { learn, nameOf, namingField } from "../schema.js";
import { pointer } from "../values.js";

/** A list of choices below a text field. `picked(pointer)` is called with the choice. */
export class PointerPicker {
  constructor(className, input, picked) {
    Object.assign(this, { className, input, picked, rows: [], place: -1, next: latest() });
    this.list = h(".choices.floating", { role: "listbox", "aria-label": t("pointer.find", { class: className }) });
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-expanded", "true");
    const search = debounce(120, () => this.search());
    input.addEventListener("input", () => {
      this.chosen = undefined;
      this.place = -1;
      search();
    });
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
    this.search(true);
  }

  /** The pointer that the list stands at. */
  get chosen() { return this.place >= 0 ? pointer(this.className, this.rows[this.place].objectId) : undefined; }

  set chosen(_) { this.place = -1; }

  async search(isFirst = false) {
    const text = isFirst ? "" : this.input.value.trim();
    const field = namingField(this.className);
    const ways = text === "" ? [] : [
      { objectId: text },
      ...(field ? [{ [field]: { $regex: `^\\Q${text.replaceAll("\\E", "")}\\E`, $options: "i" } }] : []),
    ];
    const signal = this.next();
    const rows = await parse.get(objectPath(this.className), {
      where: ways.length > 1 ? { $or: ways } : ways[0], keys: field ?? "objectId", limit: 8, order: text && field ? field : "-createdAt",
    }, { signal, headers: SHORTEN }).then(({ body }) => body.results, () => []);
    if (signal.aborted) return;
    Object.assign(this, { rows, text });
    for (const row of rows) learn(this.className, row);
    this.place = text && rows.length ? 0 : -1;
    this.draw(text);
  }

  /** Waits until the choices are those of what was typed. */
  async ready() {
    while (this.text !== this.input.value.trim()) await this.search();
  }

  draw(text) {
    put(this.list, this.rows.length === 0 && text ? h(".none", t("pointer.none", { class: this.className }))
      : this.rows.map((row, index) => h("div", {
        role: "option", "aria-selected": String(index === this.place), onclick: () => this.picked(pointer(this.className, row.objectId)),
      }, shown(nameOf(this.className, row.objectId) || row.objectId, 60), h("code.quiet", plain(row.objectId, 24)))));
  }

  /** Up and down walk through the list; gives whether the key was one of these. */
  handleKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || this.rows.length === 0) return false;
    this.place = (this.place + step + this.rows.length) % this.rows.length;
    this.draw(this.input.value);
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}

/** A text field for an object, with the choices below while one is looked for: `{ element, input, chosen(), clear() }`. */
export function pointerField(className, { id, value, label, isOpen, picked } = {}) {
  let chosen = value;
  let picker;
  const nameFor = (found) => (found ? nameOf(found.className, found.objectId) || found.objectId : "");
  const input = textField({ id, value: nameFor(value), placeholder: label ?? t("pointer.find", { class: className }), "aria-label": label });
  const list = h("div");
  const open = () => {
    if (list.childElementCount) return;
    picker ??= new PointerPicker(className, input, pick);
    if (input.value) picker.search();
    put(list, picker.list);
  };
  const pick = (found) => {
    chosen = found;
    input.value = nameFor(found);
    put(list);
    picked?.(found, picker.rows.find((row) => row.objectId === found.objectId) ?? found);
  };
  input.addEventListener("input", () => {
    chosen = undefined;
    open();
  });
  if (isOpen) input.addEventListener("focus", () => chosen || open());
  input.addEventListener("keydown", (event) => {
    if (!list.childElementCount || picker.handleKey(event)) return;
    if (event.key === "Enter" && picker.chosen) pick(picker.chosen);
    else if (event.key === "Escape") put(list);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element: h(".picker", input, list), input,
    chosen: () => chosen ?? (list.childElementCount ? picker.chosen : undefined),
    clear: () => {
      chosen = undefined;
      input.value = "";
    },
  };
}
