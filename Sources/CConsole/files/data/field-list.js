/** All fields of one object, one below the other, each edited where it stands. */

import { h, put } from "../core/dom.js";
import { icon, iconButton } from "../core/icons.js";
import { address } from "../core/router.js";
import { mayWrite } from "../core/session.js";
import { effect, signal } from "../core/signal.js";
import { plain } from "../core/text.js";
import { addWords, t } from "../core/words.js";
import { toast } from "../parts/toast.js";
import { drawValue } from "./cells.js";
import { mayEdit } from "./editing.js";
import { INLINE, inlineEditor } from "./editors/inline.js";
import { namesChanged } from "./names.js";
import { nameOfRow, saveField, wholeValue } from "./save.js";
import { isReadOnly } from "./schema.js";
import { isShortened, typeOf } from "./types.js";
import { isEqual } from "./values.js";

addWords({
  "fields.edit": "Edit {field}",
  "fields.clear": "Remove {field}",
  "fields.open": "Open {class} {id}",
  "fields.notSet": "not set",
});

/** The list; `rows` are notified of changes, too, where the object stands in a grid. */
export function fieldList({ className, row, fields, rows, scope }) {
  const changed = signal(0);
  const element = h(".fields", { role: "list" });
  const watch = rows ?? { notify: () => changed.set(changed.peek() + 1) };
  const draw = () => {
    if (element.querySelector(".g-editor")) return;
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.field : undefined;
    put(element, fields.map((field) => line(field)));
    if (focused !== undefined) element.querySelector(`[data-field="${CSS.escape(focused)}"]`)?.focus();
  };
  const line = (field) => {
    const value = row.values.get(field.name);
    const isFixed = isReadOnly(className, field) || !mayWrite();
    const content = drawValue(value, field);
    const place = h(isFixed ? ".field-value" : "button.field-value", isFixed ? {} : {
      type: "button", "data-field": field.name, "aria-label": t("fields.edit", { field: field.name }), onclick: () => edit(field, place),
    }, content === "" ? h("span.apart", t("fields.notSet")) : content);
    return h(".field-line", { role: "listitem" },
      h(".field-name", h("bdi", plain(field.name, 60)), h("span.label", field.targetClass ? `${field.type} \u00b7 ${plain(field.targetClass, 40)}` : field.type)),
      place,
      h("span.actions",
        typeOf(value) === "Pointer" && h("a.plain", { href: address("data", [value.className, value.objectId]), "aria-label": t("fields.open", { class: value.className, id: value.objectId }) }, icon("link")),
        !isFixed && value !== undefined && !["Relation", "Password"].includes(field.type)
          && iconButton("close", t("fields.clear", { field: field.name }), () => save(field, { value: undefined }))));
  };
  const save = async (field, change, old) => {
    const before = old ?? await wholeValue(className, row, field.name);
    if (change.amount === undefined && !change.path && field.type !== "Password" && isEqual(change.value, before) && (change.value === undefined) === (before === undefined)) return;
    saveField({ className, rows: watch, row, field, change, old: before, refused: (problem) => {
      toast(t("edit.refused", { field: field.name, reason: problem.message }), { isBad: true, action: { words: t("edit.again"), do: () => {
        const place = element.querySelector(`[data-field="${CSS.escape(field.name)}"]`);
        if (place) edit(field, place, typeof change.value === "string" ? change.value : undefined, problem.message);
      } } });
    } });
  };
  const edit = async (field, place, text, problem) => {
    if (!mayEdit(className, field)) return;
    let value = row.values.get(field.name);
    const isLong = field.type === "String" && (isShortened(value) || /[\n\r]/.test(value) || value?.length > 200);
    if (field.type === "Boolean") {
      save(field, { value: value === true ? false : value === false ? undefined : true });
      return;
    }
    if (!INLINE.has(field.type) || isLong) {
      if (isShortened(value)) value = await wholeValue(className, row, field.name);
      const { openSheet } = await import("./editors/sheet.js");
      await openSheet({ className, row, field, value, text, save: (change) => save(field, change, value) });
      return;
    }
    const close = (hasFocus) => {
      editor.remove();
      draw();
      if (hasFocus) element.querySelector(`[data-field="${CSS.escape(field.name)}"]`)?.focus();
    };
    const editor = inlineEditor({
      field, value, text, problem, label: t("edit.label", { field: field.name, object: nameOfRow(className, row) }),
      commit: async (change, direction) => {
        close(direction !== "none");
        if (change?.sheet !== undefined) {
          const { openSheet } = await import("./editors/sheet.js");
          await openSheet({ className, row, field, value, text: change.sheet, save: (next) => save(field, next, value) });
        } else if (change) save(field, change, value);
      },
      cancel: () => close(true),
    });
    editor.classList.add("in-place");
    put(place.parentElement.querySelector(".field-value"));
    place.replaceWith(editor);
    editor.focus();
  };
  effect(() => {
    (rows?.changed ?? changed)();
    namesChanged();
    draw();
  }, scope);
  return element;
}
