/** Edits values in a grid or in an object's list of fields: opens the editor for the type, saves, and moves on. */

import { h, icon, iconButton, put } from "../core/dom.js";
import { address } from "../core/router.js";
import { mayWrite } from "../core/session.js";
import { effect } from "../core/signal.js";
import { addWords, plain, t } from "../core/words.js";
import { toast } from "../parts/states.js";
import { drawValue } from "./cells.js";
import { INLINE, inlineEditor } from "./editors/inline.js";
import { nameOfRow, saveField, wholeValue, withMember } from "./save.js";
import { isReadOnly, isShortened, namesChanged, typeOf } from "./schema.js";
import { asText, isEqual } from "./values.js";

addWords({
  "edit.readOnly": "{field} is set by the server.", "edit.notAllowed": "Your role is read-only.", "edit.refused": "{field} not saved: {reason}",
  "edit.again": "Edit again", "fields.edit": "Edit {field}", "fields.clear": "Remove {field}", "fields.open": "Open {class} {id}",
});

let open = null;

/** Whether a field may be changed. Otherwise shows the reason. */
function mayEdit(className, field) {
  if (!mayWrite()) toast(t("edit.notAllowed"));
  else if (isReadOnly(className, field)) toast(t("edit.readOnly", { field: field.name }));
  else return true;
  return false;
}

/** Returns a rejected change for reopening the editor: a text for a line editor, a value for a sheet. */
function refusedAs(field, { path, value, amount }, old) {
  if (amount !== undefined) return { text: `+${amount}` };
  const whole = path ? withMember(old, path, value) : value;
  if (whole === undefined || whole === null) return {};
  return INLINE.has(field.type) ? { text: asText(whole) } : { value: whole };
}

const isLong = (text) => typeof text === "string" && (text.length > 200 || /[\n\r]/.test(text));

/**
 * Edits a field, starting with `text` or, if something was typed before, with the value `draft`. `place(editor)` inserts a line editor and
 * `ended(editor, hasFocus)` removes it; `save(change, old)` stores; afterward `focus()` is called for a sheet and `step(direction)` for a
 * line editor.
 */
async function edit({ className, row, field, text, draft, problem, place, ended, save, focus, step }) {
  let value = row.values.get(field.name);
  if (field.type === "Boolean" && text === undefined) {
    save({ value: value === true ? false : value === false ? undefined : true }, value);
    return;
  }
  const openSheet = async (typed) => {
    if (isShortened(value)) value = await wholeValue(className, row, field.name);
    // Closing the sheet discards the rejected change.
    if (row.failed?.delete(field.name)) row.version += 1;
    await (await import("./editors/sheet.js")).openSheet({ className, row, field, value, text: typed, draft, save: (change) => save(change, value) });
    focus();
  };
  if (!INLINE.has(field.type) || (field.type === "String" && (isShortened(value) || isLong(value) || isLong(text)))) {
    await openSheet(text);
    return;
  }
  const editor = inlineEditor({
    field, value, text, problem, label: t("edit.label", { field: field.name, object: nameOfRow(className, row) }),
    commit: async (change, direction) => {
      row.failed?.delete(field.name);
      ended(editor, direction !== "none");
      if (change?.sheet !== undefined) await openSheet(change.sheet);
      else {
        if (change) save(change, value);
        step?.(direction);
      }
    },
    cancel: () => {
      row.failed?.delete(field.name);
      row.version += 1;
      ended(editor, true);
    },
  });
  place(editor);
  editor.focus();
}

function store({ className, rows, row, field, change, old, again }) {
  const isSame = change.amount === undefined && !change.path && isEqual(change.value, old) && (change.value === undefined) === (old === undefined);
  if (isSame && field.type !== "Password") return undefined;
  return saveField({
    className, rows, row, field, change, old,
    refused: (problem) => {
      const refused = { ...refusedAs(field, change, old), problem: problem.message };
      row.failed ??= new Map();
      row.failed.set(field.name, refused);
      row.version += 1;
      rows.notify();
      toast(t("edit.refused", { field: field.name, reason: problem.message }), {
        isBad: true, action: { words: t("edit.again"), do: () => again(refused) },
      });
    },
  });
}

const cellStore = (grid, className, row, field) => (change, old) => store({
  className, rows: grid.rows, row, field, change, old,
  again: (refused) => {
    const place = { row: grid.rows.indexOf(row.id), column: grid.columns.findIndex(({ name }) => name === field.name) };
    if (place.row < 0) return;
    grid.moveTo(place.row, place.column);
    editCell(grid, className, place, undefined, refused);
  },
});

/** Opens the editor of a cell; `text` was already typed, `refused` was rejected. */
export async function editCell(grid, className, { row: index, column }, text, refused) {
  const row = grid.rows.at(index);
  const field = grid.columns[column];
  if (!row || !field || !mayEdit(className, field)) return;
  open?.finish("none");
  const known = refused ?? row.failed?.get(field.name);
  const focus = () => {
    grid.later();
    grid.focus({ preventScroll: true });
  };
  await edit({
    className, row, field, text: text ?? known?.text, draft: known?.value, problem: known?.problem, save: cellStore(grid, className, row, field), focus,
    place: (editor) => placeInGrid(grid, editor, index, column),
    ended: (editor, hasFocus) => {
      open = null;
      editor.remove();
      if (hasFocus) focus();
      else grid.later();
    },
    step: (direction) => {
      const to = { down: [1, 0], up: [-1, 0], right: [0, 1], left: [0, -1] }[direction];
      if (to) grid.moveTo(index + to[0], column + to[1]);
    },
  });
}

/** The controller of the grid's current rows, which is aborted when they are replaced. */
let lifetime;

function placeInGrid(grid, editor, index, column) {
  open = editor;
  if (lifetime !== grid.lifetime) {
    lifetime = grid.lifetime;
    // Stores the open edit before other rows replace these.
    lifetime.signal.addEventListener("abort", () => {
      const last = open;
      open = null;
      last?.finish("none");
    });
  }
  const { geometry } = grid;
  const { type, width } = grid.columns[column];
  const left = geometry.left(column);
  editor.style.transform = `translateY(${geometry.top(index)}px)`;
  editor.style.insetInlineStart = `${left + (geometry.isFrozen(column) ? grid.scroller.scrollLeft : 0)}px`;
  editor.style.width = `${Math.max(width, type === "Pointer" || type === "Date" ? 260 : 160)}px`;
  grid.body.append(editor);
}

export async function clearCell(grid, className) {
  const row = grid.activeRow;
  const field = grid.activeColumn;
  if (!row || !field || !mayEdit(className, field) || field.type === "Password") return;
  if (row.values.get(field.name) === undefined || field.type === "Relation") return;
  // The database doesn't distinguish missing values from null.
  await cellStore(grid, className, row, field)({ value: undefined }, await wholeValue(className, row, field.name));
}

/** Creates the list of an object's fields, each editable in place; `rows` is notified of changes. */
export function fieldList({ className, row, fields, rows, scope }) {
  const element = h(".fields", { role: "list" });
  const placeOf = (field) => element.querySelector(`[data-field="${CSS.escape(field)}"]`);
  const draw = () => {
    if (element.querySelector(".g-editor")) return;
    const focused = element.contains(document.activeElement) ? document.activeElement.dataset.field : undefined;
    put(element, fields.map((field) => line(field)));
    if (focused !== undefined) placeOf(focused)?.focus();
  };
  const line = (field) => {
    const value = row.values.get(field.name);
    const isFixed = isReadOnly(className, field) || !mayWrite();
    const content = drawValue(value, field);
    const place = h(isFixed ? ".field-value" : "button.field-value", isFixed ? {} : {
      "data-field": field.name, "aria-label": t("fields.edit", { field: field.name }), onclick: () => editLine(field),
    }, content === "" ? h("span.apart", t("pointer.clear")) : content);
    return h(".field-line", { role: "listitem" },
      h(".field-name", h("bdi", plain(field.name, 60)), field.name !== field.type && h("span.label", field.targetClass ? `${field.type} \u00b7 ${plain(field.targetClass, 40)}` : field.type)),
      place,
      h("span.actions",
        typeOf(value) === "Pointer" && h("a.plain", { href: address("data", [value.className, value.objectId]), "aria-label": t("fields.open", { class: value.className, id: value.objectId }) }, icon("link")),
        !isFixed && !field.required && value !== undefined && !["Relation", "Password"].includes(field.type)
          && iconButton("close", t("fields.clear", { field: field.name }), async () => save(field, { value: undefined }, await wholeValue(className, row, field.name)))));
  };
  const save = (field, change, old) => store({ className, rows, row, field, change, old, again: (refused) => editLine(field, refused) });
  const editLine = (field, { text, value: draft, problem } = {}) => {
    if (!mayEdit(className, field)) return;
    edit({
      className, row, field, text, draft, problem, save: (change, old) => save(field, change, old), focus: () => placeOf(field.name)?.focus(),
      place: (editor) => {
        editor.classList.add("in-place");
        placeOf(field.name)?.replaceWith(editor);
      },
      ended: (editor, hasFocus) => {
        editor.remove();
        draw();
        if (hasFocus) placeOf(field.name)?.focus();
      },
    });
  };
  effect(() => {
    rows.changed();
    namesChanged();
    draw();
  }, scope);
  return element;
}
