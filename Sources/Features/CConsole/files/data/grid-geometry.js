/** Positions of rows and columns, and the keys that move between them. Browsers limit heights, so the scroll bar of very tall lists is proportional. */

import { combination } from "../core/keys.js";
import { mayWrite } from "../core/session.js";
import { isReadOnly } from "./schema.js";

const MAXIMUM = 8000000;
const OVERSCAN = 4;

/** The width of the column with row numbers and check boxes. */
const GUTTER = 52;

export class GridGeometry {
  constructor(scroller, canvas) {
    this.scroller = scroller;
    this.canvas = canvas;
    this.offset = 0;
    this.length = 0;
    this.lefts = [GUTTER];
    this.frozen = 0;
    this.measure();
  }

  /** Measures the document, at the start and when the window is resized, but never while scrolling. */
  measure() {
    // On phones a row is a card.
    this.isCards = matchMedia("(max-width: 639px)").matches;
    this.scroller.parentElement?.classList.toggle("cards", this.isCards);
    this.rowHeight = parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 32;
    this.headHeight = this.isCards ? 0 : this.rowHeight + 2;
    this.height = this.scroller.clientHeight;
    this.width = this.scroller.clientWidth;
    this.frozen = this.width < 640 ? 0 : this.wantedFrozen ?? 0;
    this.setLength(this.length);
  }

  setColumns(columns) {
    this.lefts = [GUTTER];
    for (const column of columns) this.lefts.push(this.lefts.at(-1) + column.width);
    this.wantedFrozen = columns[0]?.name === "objectId" ? 1 : 0;
    this.frozen = this.width < 640 ? 0 : this.wantedFrozen;
    this.canvas.style.width = `${this.lefts.at(-1)}px`;
  }

  setLength(length) {
    this.length = length;
    const whole = length * this.rowHeight + this.headHeight;
    this.isProportional = whole > MAXIMUM;
    const height = Math.min(whole, MAXIMUM);
    if (height !== this.canvasHeight) {
      this.canvasHeight = height;
      this.canvas.style.height = `${height}px`;
    }
  }

  /** The number of rows that fit into the window. */
  get fitting() { return Math.max(1, (this.height - this.headHeight) / this.rowHeight); }

  /** The position of the topmost visible row, with a fraction. */
  get topRow() { return this.isProportional ? this.offset : this.scroller.scrollTop / this.rowHeight; }

  scrolled(length) {
    if (!this.isProportional) return;
    const at = this.scroller.scrollTop;
    if (Math.abs(at - (this.expected ?? -1)) < 2) return;
    this.offset = (at / (this.canvasHeight - this.height)) * Math.max(0, length - this.fitting);
    this.expected = at;
  }

  moveBy(pixels, length) { this.moveRowTo(this.topRow + pixels / this.rowHeight, length); }

  moveRowTo(row, length) {
    const last = Math.max(0, length - this.fitting);
    const top = Math.max(0, Math.min(row, last));
    if (!this.isProportional) {
      this.scroller.scrollTop = top * this.rowHeight;
      return;
    }
    this.offset = top;
    this.scroller.scrollTop = last === 0 ? 0 : (top / last) * (this.canvasHeight - this.height);
    this.expected = this.scroller.scrollTop;
  }

  top(index) {
    return this.isProportional
      ? Math.round(this.scroller.scrollTop + (index - this.offset) * this.rowHeight)
      : index * this.rowHeight;
  }

  view(length) {
    const top = this.topRow;
    const left = this.scroller.scrollLeft;
    const right = left + this.width;
    let firstColumn = this.frozen;
    while (firstColumn < this.lefts.length - 2 && this.lefts[firstColumn + 1] < left) firstColumn += 1;
    let lastColumn = firstColumn;
    while (lastColumn < this.lefts.length - 2 && this.lefts[lastColumn + 1] < right) lastColumn += 1;
    return {
      firstRow: Math.max(0, Math.floor(top) - OVERSCAN),
      lastRow: Math.min(length - 1, Math.ceil(top + this.fitting) + OVERSCAN),
      firstColumn, lastColumn,
    };
  }

  left(column) { return this.lefts[column]; }

  isFrozen(column) { return column < this.frozen; }

  /** Returns the width of the columns left out before a column. */
  skipped(first) { return Math.max(0, this.lefts[Math.max(first, this.frozen)] - this.lefts[this.frozen]); }

  /** Scrolls just enough to make a cell visible. */
  reveal({ row, column }, length) {
    const top = this.topRow;
    if (row < top) this.moveRowTo(row, length);
    else if (row + 1 > top + this.fitting) this.moveRowTo(row + 1 - this.fitting, length);
    if (column < this.frozen || this.lefts.length < 2) return;
    const from = this.lefts[column] - this.lefts[this.frozen];
    const to = this.lefts[column + 1];
    if (from < this.scroller.scrollLeft) this.scroller.scrollLeft = from;
    else if (to > this.scroller.scrollLeft + this.width) this.scroller.scrollLeft = Math.min(from, to - this.width);
  }
}

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
