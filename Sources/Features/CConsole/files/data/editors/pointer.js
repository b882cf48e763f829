/** Finds the object for a pointer by its id or the beginning of its name. */

import { objectPath, parse, SHORTEN } from "../../core/api.js";
import { button, debounce, h, problemLine, put, textField } from "../../core/dom.js";
import { latest } from "../../core/signal.js";
import { addWords, plain, shown, t } from "../../core/words.js";
import { confirm } from "../../parts/dialog.js";
import { learn, nameOf, namingField } from "../schema.js";
import { pointer } from "../values.js";

addWords({
  "pointer.keep": "Keep it as an id",
  "pointer.keepText": "{class} {text} doesn't exist or is hidden from you. The pointer leads nowhere until it exists.",
});

/** The list of matches below a text field. `picked(pointer)` is called with the choice. */
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

  /** The highlighted pointer. */
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
    }, { signal, headers: SHORTEN }).then(({ body }) => body.results, (refusal) => Object.assign([], { refusal }));
    if (signal.aborted) return;
    Object.assign(this, { rows, text });
    for (const row of rows) learn(this.className, row);
    // An exact id takes precedence over names that begin with it.
    this.place = text && rows.length ? Math.max(0, rows.findIndex(({ objectId }) => objectId === text)) : -1;
    this.draw(text);
  }

  /** Waits until the matches are those of the typed text. */
  async ready() {
    while (this.text !== this.input.value.trim()) await this.search();
  }

  /** Creates the message that no object matches, with a button that uses the text as an id if it can be one. */
  unknown(keep) {
    const { className, text, rows } = this;
    const places = { class: className, text: plain(text, 40) };
    return [h("span", rows.refusal?.message ?? t("pointer.unknown", places)), /^[\x21-\x7e]+$/.test(text) && button(".link", async () => {
      const isSure = await confirm({ title: `${t("pointer.keep")}?`, text: t("pointer.keepText", places), button: t("pointer.keep") });
      if (isSure) keep(pointer(className, text));
      else this.input.focus();
    }, t("pointer.keep"))];
  }

  draw(text) {
    put(this.list, this.rows.length === 0 && text ? h(".none", t("pointer.none", { class: this.className }))
      : this.rows.map((row, index) => h("div", {
        role: "option", "aria-selected": String(index === this.place), onclick: () => this.picked(pointer(this.className, row.objectId)),
      }, shown(nameOf(this.className, row.objectId) || row.objectId, 60), h("code.quiet", plain(row.objectId, 24)))));
  }

  /** Handles the up and down keys. Returns whether the key was one of them. */
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

/**
 * Creates a text field for an object with the matches below: `{ element, input, chosen(), read(), clear() }`. `read` waits for the search,
 * and throws if nothing matches; the reason is displayed below the field.
 */
export function pointerField(className, { id, value, label, isOpen, picked } = {}) {
  let chosen = value;
  let picker;
  const nameFor = (found) => (found ? nameOf(found.className, found.objectId) || found.objectId : "");
  const input = textField({ id, value: nameFor(value), placeholder: label ?? t("pointer.find", { class: className }), "aria-label": label });
  const list = h("div");
  const element = h(".picker", input, list);
  const problem = problemLine();
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
    problem.remove();
    picked?.(found, picker.rows.find((row) => row.objectId === found.objectId) ?? found);
  };
  input.addEventListener("input", () => {
    chosen = undefined;
    problem.remove();
    open();
  });
  if (isOpen) input.addEventListener("focus", () => chosen || open());
  input.addEventListener("keydown", (event) => {
    if (!list.childElementCount || picker.handleKey(event)) return;
    if (event.key === "Enter" && picker.chosen) {
      pick(picker.chosen);
      // Ctrl+Enter saves the form.
      if (event.ctrlKey || event.metaKey) return;
    } else if (event.key === "Escape") put(list);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    element, input,
    chosen: () => chosen ?? (list.childElementCount ? picker.chosen : undefined),
    read: async () => {
      if (chosen || input.value.trim() === "") return chosen;
      open();
      await picker.ready();
      if (picker.chosen) pick(picker.chosen);
      else if (!chosen) {
        put(problem, picker.unknown(pick));
        element.append(problem);
        throw new Error("");
      }
      return chosen;
    },
    clear: () => {
      chosen = undefined;
      input.value = "";
    },
  };
}
