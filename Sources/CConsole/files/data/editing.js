/** Editing in a grid: opens the editor of a type, saves what it gives, and moves on. */

import { t } from "../core/words.js";
import { mayWrite } from "../core/session.js";
import { toast } from "../parts/toast.js";
import { INLINE, inlineEditor } from "./editors/inline.js";
import { nameOfRow, saveField, wholeValue } from "./save.js";
import { isReadOnly } from "./schema.js";
import { isShortened } from "./types.js";
import { isEqual } from "./values.js";
import { openDialog } from "../parts/dialog.js";
import { button, h } from "../core/dom.js";
import "./words.js";

/** What is edited now. */
let open = null;

/** Whether a field may be changed; says why not. */
export function mayEdit(className, field) {
  if (!mayWrite()) toast(t("edit.notAllowed"));
  else if (isReadOnly(className, field)) toast(t("edit.readOnly", { field: field.name }));
  else return true;
  return false;
}

/** Opens the editor of a cell; `text` is what was typed already. */
export async function editCell(grid, className, { row: index, column }, text, problem) {
  const row = grid.rows.at(index);
  const field = grid.columns[column];
  if (!row || !field || !mayEdit(className, field)) return;
  open?.finish("none");
  const known = row.failed?.get(field.name);
  text ??= known?.text;
  problem ??= known?.problem;
  let value = row.values.get(field.name);
  const isLong = field.type === "String" && (isShortened(value) || /[\n\r]/.test(value) || value?.length > 200);
  const save = (change, old = value) => saveChange(grid, className, row, field, change, old);
  if (field.type === "Boolean" && text === undefined) {
    const next = value === true ? false : value === false ? undefined : true;
    save({ value: next });
    return;
  }
  if (INLINE.has(field.type) && !isLong) {
    openInline(grid, { className, row, field, value, text, problem, index, column, save });
    return;
  }
  if (isShortened(value)) value = await wholeValue(className, row, field.name);
  const { openSheet } = await import("./editors/sheet.js");
  await openSheet({ className, row, field, value, text, save: (change) => save(change, value), grid });
  grid.focus({ preventScroll: true });
}

function openInline(grid, { className, row, field, value, text, problem, index, column, save }) {
  const close = () => {
    open = null;
    editor.remove();
    grid.later();
  };
  const editor = inlineEditor({
    field, value, text, problem, label: t("edit.label", { field: field.name, object: nameOfRow(className, row) }),
    commit: async (change, direction) => {
      close();
      row.failed?.delete(field.name);
      if (direction !== "none") grid.focus({ preventScroll: true });
      if (change?.sheet !== undefined) {
        const { openSheet } = await import("./editors/sheet.js");
        await openSheet({ className, row, field, value, text: change.sheet, save, grid });
        grid.focus({ preventScroll: true });
        return;
      }
      if (change) save(change);
      const step = { down: [1, 0], up: [-1, 0], right: [0, 1], left: [0, -1] }[direction];
      if (step) grid.moveTo(index + step[0], column + step[1]);
    },
    cancel: () => {
      close();
      row.failed?.delete(field.name);
      row.version += 1;
      grid.focus({ preventScroll: true });
    },
  });
  open = editor;
  grid.lifetime.signal.addEventListener("abort", () => { if (open === editor) open = null; });
  const { geometry } = grid;
  const left = geometry.left(column);
  editor.style.transform = `translateY(${geometry.top(index)}px)`;
  editor.style.insetInlineStart = `${left}px`;
  editor.style.width = `${Math.max(grid.columns[column].width, field.type === "Pointer" || field.type === "Date" ? 260 : 160)}px`;
  if (geometry.isFrozen(column)) editor.style.insetInlineStart = `${left + grid.scroller.scrollLeft}px`;
  grid.body.append(editor);
  editor.focus();
}

function saveChange(grid, className, row, field, change, old) {
  if (change.amount === undefined && !change.path && field.type !== "Password" && isEqual(change.value, old) && (change.value === undefined) === (old === undefined)) return undefined;
  return saveField({
    className, rows: grid.rows, row, field, change, old,
    refused: (problem) => {
      const text = typeof change.value === "string" ? change.value : change.amount !== undefined ? `+${change.amount}` : undefined;
      row.failed ??= new Map();
      row.failed.set(field.name, { text, problem: problem.message });
      row.version += 1;
      grid.later();
      toast(t("edit.refused", { field: field.name, reason: problem.message }), {
        isBad: true, action: { words: t("edit.again"), do: () => {
          const place = { row: grid.rows.indexOf(row.id), column: grid.columns.findIndex(({ name }) => name === field.name) };
          if (place.row < 0) return;
          grid.moveTo(place.row, place.column);
          editCell(grid, className, place, text, problem.message);
        } },
      });
    },
  });
}

let clearing;

/** Takes the value of the active cell away. */
export async function clearCell(grid, className) {
  const row = grid.activeRow;
  const field = grid.activeColumn;
  if (!row || !field || !mayEdit(className, field) || field.type === "Password") return;
  let value = row.values.get(field.name);
  if (value === undefined || field.type === "Relation") return;
  clearing ??= field.type === "ACL" ? undefined : await openDialog({ title: t("edit.clearTitle", { field: field.name }) }, (close) => ({
    body: h("p", t("edit.clearText")),
    foot: [
      button(".button.start", () => close(), t("cancel")),
      button(".button", () => close("null"), t("edit.setNull")),
      h("button.button.primary", { type: "button", autofocus: true, onclick: () => close("remove") }, t("edit.remove")),
    ],
  }));
  if (!clearing && field.type !== "ACL") return;
  if (isShortened(value)) value = await wholeValue(className, row, field.name);
  await saveChange(grid, className, row, field, { value: clearing === "null" && field.type !== "ACL" ? null : undefined }, value);
}
