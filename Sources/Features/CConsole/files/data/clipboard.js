/** Copies ranges of cells as tab-separated text, and pastes such text from spreadsheets. */

import { h } from "../core/dom.js";
import { addWords, plain, t } from "../core/words.js";
import { firstButton, openDialog } from "../parts/dialog.js";
import { newChange, record, toast, whileStoring } from "../parts/states.js";
import { conditionalPut, nameOfRow, refreshOthers, showUnstored } from "./save.js";
import { isReadOnly, isShortened } from "./schema.js";
import { asText, fromText, guarded, isEqual, noValue, unguarded } from "./values.js";

addWords({
  "paste.title": "These cells were not pasted", "paste.done": "{n} {n|cell|cells} pasted", "paste.undone": "{n} {n|row|rows} restored",
  "paste.kept": "{field} of {object} was changed by others and kept",
  "paste.cut": "{n} {n|cell is|cells are} too long to be copied whole: open {n|it|them} to copy all.", "paste.copied": "{n} {n|cell|cells} copied",
  "paste.reading": "Reading the rows…", "paste.read": "{n} {n|row is|rows are} read now: copy again.",
  "paste.many": "{n} rows are too many at once: export or import them.",
  "paste.long": "{field} was not pasted over a long value: open it to change it", "paste.beyond": "{n} {n|row|rows} beyond the end were left out",
});

const quote = (text) => (/[\t\n\r"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const MOST = 10_000;

/** Copies the range or the active cell to the clipboard. */
export function copyRange(grid, event) {
  if (event.target !== grid.scroller) return;
  event.preventDefault();
  const { from, to } = grid.range();
  if (grid.rows.missing(from.row, to.row).length > 0) copyUnread(grid, from, to);
  else {
    const { text, say } = readRange(grid, from, to);
    event.clipboardData.setData("text/plain", text);
    say();
  }
}

/** Loads rows that were not visible yet, then copies. */
async function copyUnread(grid, from, to) {
  const n = to.row - from.row + 1;
  if (n > MOST) {
    toast(t("paste.many", { n }), { isBad: true });
    return;
  }
  const waiting = toast(t("paste.reading"), { seconds: 600 });
  const { rows } = grid;
  const isThere = await rows.readAll(from.row, to.row);
  waiting();
  if (!isThere || rows !== grid.rows) return;
  const { text, say } = readRange(grid, from, to);
  try {
    await navigator.clipboard.writeText(text);
    say();
  } catch {
    // Some browsers allow writing to the clipboard only immediately after a key press.
    toast(t("paste.read", { n }));
  }
}

function readRange(grid, from, to) {
  const n = (to.row - from.row + 1) * (to.column - from.column + 1);
  const lines = [];
  let short = 0;
  for (let row = from.row; row <= to.row; row += 1) {
    const cells = [];
    for (let column = from.column; column <= to.column; column += 1) {
      const value = grid.rows.at(row)?.values.get(grid.columns[column].name);
      if (isShortened(value)) short += 1;
      // A single cell is copied unchanged. Several cells are guarded against formulas, because they go to spreadsheets.
      cells.push(quote(n > 1 && typeof value !== "number" ? guarded(asText(value)) : asText(value)));
    }
    lines.push(cells.join("\t"));
  }
  return { text: lines.join("\n"), say: () => (short > 0 ? toast(t("paste.cut", { n: short })) : n > 1 && toast(t("paste.copied", { n }), { seconds: 2 })) };
}

function parseRange(text) {
  const rows = [[]];
  let at = 0;
  while (at < text.length) {
    let cell = "";
    if (text[at] === '"' && /^"(?:[^"]|"")*"(?=[\t\r\n]|$)/.test(text.slice(at))) {
      const [quoted] = /^"(?:[^"]|"")*"/.exec(text.slice(at));
      cell = quoted.slice(1, -1).replaceAll('""', '"');
      at += quoted.length;
    } else {
      const end = text.slice(at).search(/[\t\r\n]/);
      cell = end < 0 ? text.slice(at) : text.slice(at, at + end);
      at += cell.length;
    }
    rows.at(-1).push(cell);
    if (at >= text.length) break;
    if (text[at] === "\t") {
      at += 1;
      if (at === text.length) rows.at(-1).push("");
    } else {
      at += text.startsWith("\r\n", at) ? 2 : 1;
      if (at < text.length) rows.push([]);
    }
  }
  return rows;
}

/** Pastes a range at the active cell: one request per row, conditional on the displayed values. */
export const pasteText = (page, text) => whileStoring(paste(page, text));

/** Returns whether anything was stored. */
async function paste(page, text) {
  const { grid, className } = page;
  const number = newChange();
  let cells = parseRange(text);
  if (cells.length > 1 || cells[0].length > 1) cells = cells.map((line) => line.map(unguarded));
  const start = grid.range().from;
  const end = Math.min(start.row + cells.length, grid.rows.length) - 1;
  if (cells.length > MOST) {
    toast(t("paste.many", { n: cells.length }), { isBad: true });
    return false;
  }
  if (!(await grid.rows.readAll(start.row, end))) return false;
  const faults = [];
  const changes = [];
  let beyond = 0;
  cells.forEach((line, down) => {
    const row = grid.rows.at(start.row + down);
    if (!row) {
      beyond += 1;
      return;
    }
    const fields = new Map();
    line.forEach((cell, right) => {
      const field = grid.columns[start.column + right];
      if (!field) return;
      if (isReadOnly(className, field) || ["Password", "Relation", "File"].includes(field.type)) {
        if (asText(row.values.get(field.name)) !== cell) faults.push(t("edit.readOnly", { field: field.name }));
        return;
      }
      try {
        const value = fromText(cell, field);
        const old = row.values.get(field.name);
        // Missing values and null are copied as an empty cell, so pasting an empty cell there changes nothing.
        if (cell === "" && (old === undefined || old === null)) return;
        if (isShortened(old)) {
          if (value !== undefined) faults.push(t("paste.long", { field: field.name }));
        } else if (!(isEqual(value, old) && (value === undefined) === (old === undefined))) fields.set(field.name, { value, old });
      } catch (problem) {
        faults.push(problem.message);
      }
    });
    if (fields.size > 0) changes.push({ row, fields });
  });
  if (beyond > 0) faults.push(t("paste.beyond", { n: beyond }));
  let n = 0;
  const stored = [];
  for (const { row, fields } of changes) {
    try {
      const kept = await write(className, row, fields, "old", "value");
      for (const name of kept) {
        faults.push(t("paste.kept", { field: name, object: nameOfRow(className, row) }));
        fields.delete(name);
      }
      if (fields.size > 0) stored.push({ row, fields });
      n += fields.size;
    } catch (problem) {
      faults.push(`${plain(row.id)}: ${problem.message}`);
    }
    grid.later();
  }
  if (n > 0) {
    record(t("paste.done", { n }), async () => {
      let rows = 0;
      let problem;
      for (; stored.length > 0; stored.shift()) {
        const { row, fields } = stored[0];
        // Values that were changed since are kept.
        const ours = new Map([...fields].filter(([name, { value }]) => isEqual(row.values.get(name), value)));
        try {
          const kept = ours.size > 0 ? await write(className, row, ours, "value", "old") : [];
          const stays = [...fields.keys()].find((name) => !ours.has(name) || kept.includes(name));
          if (stays === undefined) rows += 1;
          else problem = new Error(t("paste.kept", { field: stays, object: nameOfRow(className, row) }));
          await refreshOthers(className, row);
        } catch (refusal) {
          if (refusal.isUnfinished) throw refusal;
          problem = refusal;
        }
      }
      grid.later();
      if (problem) throw problem;
      return t("paste.undone", { n: rows });
    }, number);
  }
  if (faults.length > 0) {
    await openDialog({ title: t("paste.title") }, (close) => ({
      body: h("ul.names", [...new Set(faults)].slice(0, 12).map((fault) => h("li", fault))),
      foot: firstButton(".button.primary", () => close(), t("close")),
    }));
  }
  return n > 0;
}

/**
 * Stores fields of a row after its pending changes. Returns the names of the fields that somebody else has changed, which are kept; `from`
 * and `to` name the expected and the new values.
 */
function write(className, row, fields, from, to) {
  const kept = new Set();
  const wanted = () => [...fields].filter(([name]) => !kept.has(name));
  const work = (row.queue ?? Promise.resolve()).then(async () => {
    await conditionalPut(className, row, () => Object.fromEntries(wanted().map(([name, change]) => [name, change[to] ?? noValue({ type: name }) ?? { __op: "Delete" }])), (object) => {
      const now = new Map(Object.entries(object));
      for (const [name, change] of fields) if (![from, to].some((side) => isEqual(now.get(name), change[side]))) kept.add(name);
      return kept.size < fields.size;
    });
    // Only these fields, because an increment of another is already displayed.
    for (const [name, change] of wanted()) {
      row.set(name, change[to]);
      showUnstored(row, name);
    }
    return [...kept];
  });
  row.queue = work.catch(() => {});
  return work;
}
