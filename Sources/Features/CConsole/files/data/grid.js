/** `<r-grid>`, a grid that renders only visible rows and columns. For its keys see grid-keys.js. */

import { h, put } from "../core/dom.js";
import { effect } from "../core/signal.js";
import { t } from "../core/words.js";
import { drawCard, drawHead, drawValue } from "./cells.js";
import { GridGeometry } from "./grid-geometry.js";
import { handleKey } from "./grid-keys.js";
import { namesChanged, typeOf } from "./schema.js";

/** The grid. `show(rows, columns, controller)` sets its content and the controller of edits. */
class Grid extends HTMLElement {
  drawn = new Map();
  active = { row: 0, column: 0 };
  anchor = null;
  /** The selected rows by id. */
  selected = new Map();

  connectedCallback() {
    if (!this.scroller) this.build();
    this.resizes.observe(this.scroller);
  }

  build() {
    this.head = h(".g-head", { role: "row" });
    this.body = h(".g-body", { role: "presentation" });
    this.canvas = h(".g-canvas", { role: "presentation" }, this.head, this.body);
    this.scroller = h(".g-scroll", { role: "grid", tabIndex: 0, "aria-multiselectable": "true", "aria-label": this.label }, this.canvas);
    this.append(this.scroller);
    this.geometry = new GridGeometry(this.scroller, this.canvas);
    this.scroller.addEventListener("scroll", () => this.scrolled(), { passive: true });
    this.scroller.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.addEventListener("keydown", (event) => handleKey(this, event));
    this.addEventListener("mousedown", (event) => this.pressed(event));
    this.addEventListener("click", (event) => this.clicked(event));
    this.addEventListener("dblclick", (event) => this.cellOf(event) && this.controller.edit(this.active));
    for (const kind of ["copy", "paste", "cut"]) this.addEventListener(kind, (event) => this.controller[kind]?.(event));
    this.resizes = new ResizeObserver(() => this.resized());
  }

  focus(options) {
    this.scroller?.focus(options);
  }

  disconnectedCallback() {
    this.lifetime?.abort();
    this.resizes?.disconnect();
  }

  show(rows, columns, controller) {
    this.lifetime?.abort();
    this.lifetime = new AbortController();
    Object.assign(this, { rows, columns, controller });
    for (const { element } of this.drawn.values()) element.remove();
    this.drawn.clear();
    this.columnsChanged();
    effect(() => {
      rows.changed();
      this.later();
    }, this.lifetime.signal);
    effect(() => {
      namesChanged();
      this.namesAt = (this.namesAt ?? 0) + 1;
      this.later();
    }, this.lifetime.signal);
  }

  columnsChanged() {
    this.geometry.setColumns(this.columns);
    this.scroller.setAttribute("aria-colcount", String(this.columns.length));
    this.active.column = Math.min(this.active.column, Math.max(0, this.columns.length - 1));
    drawHead(this);
    this.redraw();
  }

  resized() {
    this.geometry.measure();
    this.redraw();
  }

  /** Redraws everything in the next frame. */
  redraw() {
    this.namesAt = (this.namesAt ?? 0) + 1;
    this.later();
  }

  later() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      if (this.isConnected && this.rows) this.draw();
    });
  }

  scrolled() {
    this.geometry.scrolled(this.rows?.length ?? 0);
    this.later();
  }

  wheel(event) {
    if (event.ctrlKey || !this.geometry.isProportional) return;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    this.geometry.moveBy(event.deltaMode === 1 ? event.deltaY * 32 : event.deltaY, this.rows.length);
    this.later();
  }

  draw() {
    const { geometry, rows } = this;
    geometry.setLength(rows.length);
    this.scroller.setAttribute("aria-rowcount", rows.isCounted ? String(rows.length + 1) : "-1");
    const { firstRow, lastRow, firstColumn, lastColumn } = geometry.view(rows.length);
    // Rows near the view are requested before they become visible.
    rows.want(firstRow - 60, lastRow + 60);
    const layout = `${firstColumn}-${lastColumn}-${this.namesAt}`;
    if (this.headLayout !== layout) {
      this.headLayout = layout;
      drawHead(this);
    }
    for (const [index, { element }] of this.drawn) {
      if (index < firstRow || index > lastRow) {
        element.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = firstRow; index <= lastRow; index += 1) this.drawRow(index, layout, firstColumn, lastColumn);
    this.drawActive();
    this.controller?.drawn?.(firstRow, lastRow);
  }

  drawRow(index, layout, first, last) {
    const row = this.rows.at(index);
    const isSelected = row !== undefined && this.selected.has(row.id);
    let state = row ? `${layout} ${row.version} ${isSelected}` : `${layout} waiting`;
    let entry = this.drawn.get(index);
    if (!entry) {
      entry = { element: h(".g-row", { role: "row", "aria-rowindex": String(index + 2) }) };
      this.drawn.set(index, entry);
      this.body.append(entry.element);
    }
    entry.element.style.transform = `translateY(${this.geometry.top(index)}px)`;
    state += this.geometry.isCards ? " card" : "";
    if (entry.state === state && entry.row === row) return;
    entry.state = state;
    entry.row = row;
    entry.element.classList.toggle("chosen", isSelected);
    if (row) entry.element.setAttribute("aria-selected", String(isSelected));
    if (this.geometry.isCards) {
      put(entry.element, drawCard(row, this.columns));
      return;
    }
    const cells = [this.gutter(index, row, isSelected)];
    const frozen = this.geometry.frozen;
    for (let column = 0; column < frozen; column += 1) cells.push(this.cell(row, column));
    cells.push(h(".g-space", { "aria-hidden": "true", style: { width: `${this.geometry.skipped(first)}px` } }));
    for (let column = Math.max(first, frozen); column <= last; column += 1) cells.push(this.cell(row, column));
    put(entry.element, cells);
  }

  gutter(index, row, isSelected) {
    const box = h("input", { type: "checkbox", checked: isSelected, tabIndex: -1, "aria-label": t("grid.select", { n: index + 1 }) });
    return h(".g-gutter", { role: "rowheader" }, h("span", String(index + 1)), row && box);
  }

  cell(row, column) {
    const field = this.columns[column];
    const value = row?.values.get(field.name);
    const element = h(".g-cell", {
      role: "gridcell", "aria-colindex": String(column + 1), "data-column": column, style: { width: `${field.width}px` },
    });
    if (this.geometry.isFrozen(column)) {
      element.classList.add("frozen");
      element.style.insetInlineStart = `${this.geometry.left(column)}px`;
    }
    if (!row) element.append(h("i.g-wait"));
    else {
      if (typeOf(value) === "Number") element.classList.add("right");
      if (field.name === "objectId") element.classList.add("mono");
      if (row.failed?.has(field.name)) element.classList.add("failed");
      put(element, drawValue(value, field));
    }
    return element;
  }

  /** Returns the element of a visible cell. */
  cellElement(row, column) {
    return this.drawn.get(row)?.element.querySelector(`[data-column="${column}"]`) ?? null;
  }

  drawActive() {
    for (const marked of this.body.querySelectorAll(".active, .ranged")) marked.classList.remove("active", "ranged");
    for (const { element } of this.drawn.values()) element.classList.remove("current");
    const { row, column } = this.active;
    this.drawn.get(row)?.element.classList.add("current");
    const element = this.cellElement(row, column);
    if (element) {
      element.classList.add("active");
      element.id ||= `cell-${Math.random().toString(36).slice(2)}`;
      this.scroller.setAttribute("aria-activedescendant", element.id);
    } else this.scroller.removeAttribute("aria-activedescendant");
    if (!this.anchor) return;
    const { from, to } = this.range();
    for (let index = from.row; index <= to.row; index += 1) {
      for (let place = from.column; place <= to.column; place += 1) this.cellElement(index, place)?.classList.add("ranged");
    }
  }

  /** Returns the range of cells between the anchor and the active cell. */
  range() {
    const other = this.anchor ?? this.active;
    const { row, column } = this.active;
    return {
      from: { row: Math.min(row, other.row), column: Math.min(column, other.column) },
      to: { row: Math.max(row, other.row), column: Math.max(column, other.column) },
    };
  }

  /** Makes a cell active and scrolls to it. */
  moveTo(row, column, isRange = false) {
    if (isRange) this.anchor ??= { ...this.active };
    else this.anchor = null;
    this.active = {
      row: Math.max(0, Math.min(row, this.rows.length - 1)), column: Math.max(0, Math.min(column, this.columns.length - 1)),
    };
    this.geometry.reveal(this.active, this.rows.length);
    this.draw();
    this.controller.moved?.();
  }

  get activeRow() { return this.rows?.at(this.active.row); }
  get activeColumn() { return this.columns[this.active.column]; }

  clicked(event) {
    const row = this.geometry.isCards && event.target instanceof Element ? event.target.closest(".g-row") : null;
    if (row) this.controller.openRow?.(Number(row.getAttribute("aria-rowindex")) - 2);
  }

  cellOf(event) {
    const element = event.target instanceof Element ? event.target.closest(".g-cell, .g-gutter") : null;
    const row = element?.closest(".g-row");
    if (!row || !this.body.contains(row)) return null;
    return { row: Number(row.getAttribute("aria-rowindex")) - 2, column: element.dataset.column === undefined ? null : Number(element.dataset.column) };
  }

  pressed(event) {
    const place = this.cellOf(event);
    if (!place || event.button || event.target.closest(".g-editor")) return;
    if (place.column === null) {
      event.preventDefault();
      this.focus({ preventScroll: true });
      this.toggle(place.row, event.shiftKey);
      return;
    }
    event.preventDefault();
    this.focus({ preventScroll: true });
    this.moveTo(place.row, place.column, event.shiftKey);
  }

  /** Selects or deselects a row; with `isRange`, selects all rows from the last one. */
  toggle(index, isRange = false) {
    const row = this.rows.at(index);
    if (!row) return;
    const from = isRange && this.toggled !== undefined ? Math.min(this.toggled, index) : index;
    const to = isRange && this.toggled !== undefined ? Math.max(this.toggled, index) : index;
    const isOn = isRange || !this.selected.has(row.id);
    for (let place = from; place <= to; place += 1) {
      const other = this.rows.at(place);
      if (other && isOn) this.selected.set(other.id, other);
      else if (other) this.selected.delete(other.id);
    }
    this.toggled = index;
    this.later();
    this.controller.selectionChanged?.();
  }

  clearSelection() {
    this.selected.clear();
    this.later();
    this.controller.selectionChanged?.();
  }
}

customElements.define("r-grid", Grid);
