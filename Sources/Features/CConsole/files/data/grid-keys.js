/** Keyboard control of the grid. */

import { combination } from "../core/keys.js";
import { mayWrite } from "../core/session.js";
import { isReadOnly } from "./schema.js";

/** Moves, selects, or asks the controller to edit. */
export function handleKey(grid, event) {
  if (event.target !== grid.scroller || event.isComposing || !grid.rows) return;
  const { controller } = grid;
  const shift = event.shiftKey;
  const keys = combination(event).replace("Shift+", "");
  const action = moves(grid, keys, shift) ?? {
    Enter: () => controller.edit(grid.active),
    F2: () => controller.edit(grid.active),
    "Mod+Enter": () => controller.open(grid.active),
    Space: () => grid.activeColumn?.type === "Boolean" && !shift ? controller.edit(grid.active) : grid.toggle(grid.active.row, shift),
    "Mod+a": () => controller.selectAll?.(),
    "Alt+ArrowDown": () => controller.title?.(grid.activeColumn, grid.head.querySelector(`[aria-colindex="${grid.active.column + 1}"] button`) ?? grid),
    Delete: () => controller.clear(),
    Backspace: () => controller.clear(),
    Escape: () => escape(grid),
  }[keys];
  if (action) {
    if (action() === false) return;
    event.preventDefault();
    event.stopPropagation();
    return;
  }
  // Typing a letter starts an edit with it, unless the letter is a shortcut of the page.
  const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (isLetter && controller.type?.(event.key)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function escape(grid) {
  if (grid.anchor) {
    grid.anchor = null;
    grid.drawActive();
    grid.controller.moved?.();
  } else if (grid.selected.size > 0) grid.clearSelection();
  else return false;
  return true;
}

function moves(grid, keys, shift) {
  const { row, column } = grid.active;
  const page = Math.max(1, Math.floor(grid.geometry.fitting) - 1);
  const lastRow = grid.rows.length - 1;
  const lastColumn = grid.columns.length - 1;
  const to = {
    ArrowDown: [row + 1, column], ArrowUp: [row - 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    PageDown: [row + page, column], PageUp: [row - page, column], Home: [row, 0], End: [row, lastColumn],
    "Mod+Home": [0, 0], "Mod+End": [lastRow, lastColumn], "Mod+ArrowDown": [lastRow, column], "Mod+ArrowUp": [0, column],
    "Mod+ArrowLeft": [row, 0], "Mod+ArrowRight": [row, lastColumn],
  }[keys];
  if (to) return () => grid.moveTo(...to, shift);
  if (keys !== "Tab") return undefined;
  // Tab leaves the grid at its ends, so the keyboard focus is never trapped.
  const isEnd = shift ? column === 0 : column === lastColumn;
  return () => (isEnd ? false : grid.moveTo(row, column + (shift ? -1 : 1)));
}

/** Whether typing starts an edit of a field. The shortcuts for help and search take precedence. */
export const takesTyping = (className, field, key) =>
  mayWrite() && !isReadOnly(className, field) && !" ?/".includes(key) && (field.type === "String" || field.type === "Password"
    || (field.type === "Number" && /[\d.+-]/.test(key)) || (field.type === "Date" && /[\dna]/.test(key)) || field.type === "Pointer"
    || (field.type === "GeoPoint" && /[\d.+-]/.test(key)));
