/** Computes positions of rows and columns. Browsers limit heights, so the scroll bar of very tall lists is proportional. */

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
