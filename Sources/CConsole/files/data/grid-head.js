/** The row of column titles: sorting, widths, a menu for each column. */

import { h, icon, put } from "../core/dom.js";
import { plain, t, zone } from "../core/words.js";

/** Draws the titles of the columns in view. */
export function drawHead(grid) {
  const { geometry } = grid;
  const { firstColumn, lastColumn } = geometry.view(grid.rows?.length ?? 0);
  const cells = [h(".g-gutter", { role: "columnheader" }, h("span.sr", "#"))];
  for (let column = 0; column < geometry.frozen; column += 1) cells.push(title(grid, column));
  cells.push(h(".g-space", { "aria-hidden": "true", style: { width: `${geometry.skipped(firstColumn)}px` } }));
  for (let column = Math.max(firstColumn, geometry.frozen); column <= Math.min(lastColumn, grid.columns.length - 1); column += 1) {
    cells.push(title(grid, column));
  }
  put(grid.head, cells);
}

function title(grid, column) {
  const field = grid.columns[column];
  const order = grid.rows?.order;
  const direction = order === field.name ? "up" : order === "-" + field.name ? "down" : null;
  const element = h(".g-title", {
    role: "columnheader", "aria-colindex": String(column + 1), style: { width: `${field.width}px` }, title: plain(`${field.name}: ${field.type}`),
    "aria-sort": direction && (direction === "up" ? "ascending" : "descending"),
  },
  h("button", { type: "button", tabIndex: -1, onclick: (event) => grid.controller.title?.(field, event.currentTarget) },
    h("bdi", plain(field.name, 60)), field.type === "Date" && h("small", zone.isUTC ? t("grid.utc") : t("grid.local")), direction && icon(direction)),
  h("i.g-resize", { onpointerdown: (event) => resize(grid, column, event) }));
  if (grid.geometry.isFrozen(column)) {
    element.classList.add("frozen");
    element.style.insetInlineStart = `${grid.geometry.left(column)}px`;
  }
  if (field.type === "Number") element.classList.add("right");
  return element;
}

function resize(grid, column, event) {
  event.preventDefault();
  event.stopPropagation();
  const field = grid.columns[column];
  const from = event.clientX;
  const width = field.width;
  const move = ({ clientX }) => {
    field.width = Math.max(56, Math.min(900, width + clientX - from));
    grid.columnsChanged();
  };
  const end = () => {
    document.removeEventListener("pointermove", move);
    document.removeEventListener("pointerup", end);
    grid.controller.resized?.(field);
  };
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", end);
}
