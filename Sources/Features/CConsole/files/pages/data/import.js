/** Imports files: maps columns to fields, checks the rows in a dry run, and sends them in batches. */

import { objectPath, parse, send } from "../../core/api.js";
import { button, h, icon, option, problemLine, put } from "../../core/dom.js";
import { mayChangeClasses } from "../../core/session.js";
import { addWords, bytes, plain, said, shown, t } from "../../core/words.js";
import { breathe, detect, records } from "../../data/import/reader.js";
import { columnsOf, doubts, objectOf, problemOf, targets, withIds } from "../../data/import/columns.js";
import { loadCounts, replaceClass, schemaPath } from "../../data/schema.js";
import { guarded, inWords, setOwn, unguarded } from "../../data/values.js";
import { openDialog } from "../../parts/dialog.js";
import { recordFinal } from "../../parts/states.js";
import { startNote } from "./class-actions.js";

addWords({
  "import.title": "Import into {class}", "import.drop": "or drop one here: CSV, JSON, or JSON with one object per line", "import.silent": "Cloud code doesn't run, and overwritten objects don't go to the trash. A dry run stores nothing.",
  "import.file": "{name}, {size}", "import.encoding": "Character encoding", "import.delimiter": "Columns are separated by", "import.tab": "tab", "import.column": "Column", "import.field": "Field",
  "import.type": "Type", "import.example": "First values", "import.skip": "don't import", "import.newField": "new field {field}", "import.fieldOf": "Field of column {column}",
  "import.typeOf": "Type of column {column}", "import.odd": "{n} {n|doesn't|don't} fit, such as {first}", "import.existing": "If an object with the same id exists", "import.existingSkip": "keep it",
  "import.existingReplace": "overwrite it", "import.existingStop": "stop the import", "import.guarded": "Remove the apostrophe that exports put before texts like =1+2", "import.empty": "The file is empty.",
  "import.none": "Choose a field for at least one column.", "import.dry": "Dry run", "import.go": "Import", "import.read": "{done} of {total} read, {n} {n|row|rows}", "import.resume": "Resume",
  "import.good": "{n} {n|row|rows} can be imported", "import.stored": "{n} {n|row|rows} imported", "import.skipped": "{n} left out, because their ids exist", "import.refused": "{n} rejected", "import.isStopped": "Stopped. The rows imported so far stay.",
  "import.ended": "Stopped before line {line}, whose id exists.", "import.endedDry": "The import would stop before line {line}, whose id exists.",
  "import.count": "{class} has {n} {n|object|objects} now.", "import.lost": "The connection was lost; up to {n} more may be imported.", "import.line": "Line {line}", "import.list": "Download the rejected lines",
  "import.back": "Back",
});

const DELIMITERS = [",", ";", "\t", "|"];
const ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"];
const TYPES = ["String", "Number", "Boolean", "Date", "Array", "Object", "GeoPoint"];
/** Rows per request, characters per request, rows in the sample, and stored rejections. */
const [BATCH, BATCH_SIZE, SAMPLE, KEPT] = [1000, 4_000_000, 1000, 10_000];

/** Opens the dialog. Returns whether anything was stored. */
export function openImport(className) {
  const work = { className, control: null, hasStored: false };
  return openDialog({ title: t("import.title", { class: className }), kind: "wide", mayClose: () => !work.control || (work.control.abort(), false) }, (close) => {
    work.body = h(".importing");
    work.foot = h(".line.wrap.grow");
    work.close = () => close(work.hasStored);
    choose(work);
    return { body: [work.body], foot: [work.foot] };
  }).then(() => work.hasStored);
}

function choose(work) {
  const problem = problemLine();
  const take = async (file) => {
    try {
      work.file = file;
      await look(work, await detect(file));
    } catch (refusal) {
      put(problem, plain(refusal.message, 300));
      // The corrected file may have the same name.
      input.value = "";
    }
  };
  const input = h("input.sr", { type: "file", accept: ".csv,.tsv,.txt,.json,.ndjson,.jsonl", onchange: () => input.files[0] && take(input.files[0]) });
  const zone = h("label.drop", icon("file"), h("span.link", t("word.choose")), h("span.quiet", t("import.drop")), input);
  for (const kind of ["dragover", "drop"]) {
    zone.addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    });
  }
  put(work.body, zone, h("p.quiet", t("import.silent")), problem);
  put(work.foot, button(".button", work.close, t("cancel")));
}

async function look(work, form) {
  const sample = { names: [], rows: [] };
  for await (const record of records(work.file, form)) {
    if (form.kind === "csv" && sample.names.length === 0) sample.names = record.cells;
    else sample.rows.push(form.kind === "csv" ? record : { object: readable(record) });
    if (sample.rows.length >= SAMPLE) break;
  }
  if (sample.rows.length === 0) throw new Error(t("import.empty"));
  Object.assign(work, { form, sample, columns: columnsOf(form.kind, sample, work.className, mayChangeClasses()), existing: "stop" });
  work.isGuarded = form.kind === "csv" && work.columns.some(({ samples }) => samples.some((text) => text && unguarded(text) !== text));
  drawColumns(work);
}

function readable({ text }) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const select = (label, values, chosen, words, onchange) => h("select", { "aria-label": label, onchange: (event) => onchange(event.target.value) },
  values.map((value) => option(value, words(value), value === chosen)));

function drawColumns(work) {
  const { form, file, columns, className } = work;
  const problem = problemLine();
  const again = async (change) => {
    try {
      await look(work, { ...form, ...change });
    } catch (refusal) {
      put(problem, plain(refusal.message, 300));
    }
  };
  const head = ["column", "field", "type", "example"].map((name) => h("th", t("import." + name)));
  const table = h("table", h("thead", h("tr", head)), h("tbody", columns.map((column) => columnRow(column, work))));
  const choice = (value, words) => h("label.line", h("input", { type: "radio", name: "existing", value, checked: work.existing === value, onchange: () => { work.existing = value; } }), words);
  const start = (isDryRun) => {
    const used = columns.filter(({ isUsed }) => isUsed);
    const wrong = used.length === 0 ? t("import.none") : problemOf(used, className);
    put(problem, wrong);
    if (!wrong) run(work, used, isDryRun);
  };
  put(work.body,
    h(".line.wrap", h("strong", t("import.file", { name: file.name, size: bytes(file.size) })), h(".space"),
      select(t("import.encoding"), ENCODINGS, form.encoding, (name) => name, (encoding) => again({ encoding })),
      form.kind === "csv" && select(t("import.delimiter"), DELIMITERS, form.delimiter, (mark) => (mark === "\t" ? t("import.tab") : mark), (delimiter) => again({ delimiter }))),
    h(".scroll.table", table),
    form.kind === "csv" && h("label.line", h("input", { type: "checkbox", checked: work.isGuarded, onchange: (event) => { work.isGuarded = event.target.checked; } }), t("import.guarded")),
    targets(className).has("objectId") && h("fieldset.stack", h("legend.label", t("import.existing")),
      choice("stop", t("import.existingStop")), choice("skip", t("import.existingSkip")), choice("replace", t("import.existingReplace"))),
    h("p.quiet", t("import.silent")), problem);
  put(work.foot, button(".button", work.close, t("cancel")), button(".button", () => start(true), t("import.dry")), button(".button.primary", () => start(false), t("import.go")));
  work.body.querySelector("select, input")?.focus();
}

function columnRow(column, work) {
  const known = targets(work.className);
  const place = h("td");
  const draw = () => {
    const { n, first } = work.form.kind === "csv" && column.isUsed ? doubts(column, work.isGuarded) : { n: 0 };
    const type = column.isNew && column.isUsed && work.form.kind === "csv"
      ? select(t("import.typeOf", { column: column.title }), TYPES, column.type, (name) => name, (name) => { column.type = name; draw(); })
      : h("span", column.isUsed ? plain(column.type, 20) : "");
    put(place, type, n > 0 && h("span.bad", " ", t("import.odd", { n, first: said(inWords(first)) })));
  };
  const own = column.isNew && column.name;
  const field = h("select", { "aria-label": t("import.fieldOf", { column: column.title }), onchange: () => {
    const chosen = known.get(field.value);
    column.isUsed = field.value !== "";
    if (chosen) Object.assign(column, { name: chosen.name, type: chosen.type, targetClass: chosen.targetClass, isNew: false });
    else if (column.isUsed) Object.assign(column, { name: own, isNew: true });
    draw();
  } }, option("", t("import.skip"), !column.isUsed), own && mayChangeClasses() && option("\u0000new", t("import.newField", { field: own }), column.isUsed && column.isNew),
  [...known.values()].map(({ name }) => option(name, plain(name, 60), column.isUsed && !column.isNew && column.name === name)));
  draw();
  const examples = column.samples.filter((value) => value !== null && value !== undefined).slice(0, 3);
  return h("tr", h("td", shown(column.title, 60)), h("td", field), place, h("td.quiet", examples.map((value, index) => [index > 0 && " \u00b7 ", typeof value === "string" ? shown(value, 40) : inWords(value)])));
}

const countOf = async (className) => (await parse.get(objectPath(className), { count: 1, limit: 0 })).body.count;

async function run(work, columns, isDryRun) {
  const { className, file, form } = work;
  const total = { stored: 0, skipped: 0, refused: 0, rows: 0, list: [] };
  const control = work.control = new AbortController();
  const bar = h("progress", { max: String(Math.max(1, file.size)), value: 0, "aria-label": t("import.title", { class: className }) });
  const words = h("p", { role: "status" });
  let paused;
  const pause = button(".button", () => {
    paused?.resolve();
    paused = paused ? undefined : Promise.withResolvers();
    put(pause, t(paused ? "import.resume" : "word.pause"));
  }, t("word.pause"));
  put(work.body, bar, words);
  control.signal.addEventListener("abort", () => paused?.resolve());
  put(work.foot, pause, button(".button", () => control.abort(), t("word.stop")));
  pause.focus();
  let read = 0;
  const tell = () => {
    bar.value = read;
    put(words, t("import.read", { done: bytes(read), total: bytes(file.size), n: total.rows }), " \u00b7 ", summary(total, isDryRun));
  };
  const note = isDryRun ? null : startNote(className, file.name);
  let end;
  let schema;
  let isLost = false;
  try {
    const added = columns.filter(({ isNew }) => isNew);
    const fields = {};
    for (const { name, type, targetClass } of added) setOwn(fields, name, targetClass ? { type, targetClass } : { type });
    let batch = [];
    let size = 0;
    const ids = new Map();
    const flush = async () => {
      if (batch.length === 0) return true;
      await paused?.promise;
      control.signal.throwIfAborted();
      const rows = form.kind === "csv" ? await withIds(batch, columns, ids, ({ line }, reason) => refuse(total, line, reason)) : batch;
      [batch, size] = [[], 0];
      if (rows.length === 0) return true;
      const ask = async (dryRun) => (await send("POST", "imports", { body: { className, rows: rows.map(({ object }) => object), existing: work.existing, dryRun, fields: dryRun ? fields : undefined } })).body;
      // The fields are created before the first rows that fit, so an import that is refused creates none.
      const isTrial = added.length > 0 && !schema;
      let body = await ask(isDryRun || isTrial);
      if (isTrial && !isDryRun && body.stored > 0) {
        schema = (await parse.put(schemaPath(className), { className, fields })).body;
        body = await ask(false);
      }
      total.stored += body.stored;
      total.skipped += body.skipped;
      work.hasStored ||= !isDryRun && body.stored > 0;
      for (const { row, error } of body.refused) refuse(total, rows[row].line, error);
      note?.update(total.stored);
      if (body.stoppedAt !== undefined) end = t(isDryRun ? "import.endedDry" : "import.ended", { line: rows[body.stoppedAt].line });
      tell();
      return !end;
    };
    let width = -1;
    let sliceBegan = performance.now();
    for await (const record of records(file, form, (done) => { read = done; }, control.signal)) {
      if (record.cells && width < 0) {
        width = record.cells.length;
        continue;
      }
      total.rows += 1;
      try {
        batch.push({ line: record.line, object: objectOf(record, columns, width, work.isGuarded) });
        size += record.text?.length ?? record.cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
      } catch (problem) {
        refuse(total, record.line, problem.message);
      }
      if ((batch.length >= BATCH || size >= BATCH_SIZE) && !(await flush())) break;
      if (performance.now() - sliceBegan > 8) {
        tell();
        await breathe();
        sliceBegan = performance.now();
      }
    }
    if (!end) await flush();
  } catch (problem) {
    isLost = problem.status === 0;
    end = control.signal.aborted ? t("import.isStopped") : isLost ? t("import.lost", { n: BATCH }) : plain(problem.message, 300);
  }
  work.control = null;
  // The connection is also lost when the tab is closed. In that case the note must stay.
  if (isLost) setTimeout(() => note?.end(), 1000);
  else note?.end();
  if (schema) replaceClass(schema);
  let now = "";
  if (!isDryRun) {
    if (schema || total.stored > 0 || isLost) recordFinal(t("import.title", { class: className }));
    loadCounts();
    now = await countOf(className).then((n) => t("import.count", { class: className, n }), () => "");
  }
  drawEnd(work, total, isDryRun && columns, end, now);
}

function refuse(total, line, reason) {
  total.refused += 1;
  if (total.list.length < KEPT) total.list.push({ line, reason });
}

const summary = (total, isDryRun) => [t(isDryRun ? "import.good" : "import.stored", { n: total.stored }),
  total.skipped > 0 && t("import.skipped", { n: total.skipped }), total.refused > 0 && t("import.refused", { n: total.refused })].filter(Boolean).join(", ");

/** Shows the result. A dry run (of `columns`) offers the import itself. */
function drawEnd(work, total, columns, end, now) {
  const first = total.list.sort((left, right) => left.line - right.line).slice(0, 20);
  // No cell may begin a formula in a spreadsheet.
  const save = async () => (await import("../../data/batches.js")).saveBlob(new Blob([total.list.map(({ line, reason }) => `${line}\t${guarded(String(reason).replace(/[\t\r\n]/g, " "))}`).join("\n")], { type: "text/tab-separated-values" }), "refused.tsv");
  put(work.body, h("p", { role: "status" }, h("strong", summary(total, columns))), end && h("p.bad", end), now && h("p", now),
    first.length > 0 && h("ul.names", first.map(({ line, reason }) => h("li", t("import.line", { line }), ": ", shown(String(reason), 200))), total.refused > first.length && h("li.quiet", t("word.andMore", { n: total.refused - first.length }))),
    total.list.length > 0 && button(".link", save, t("import.list")));
  put(work.foot, columns && button(".button", () => drawColumns(work), t("import.back")),
    columns ? button(".button.primary", () => run(work, columns, false), t("import.go")) : button(".button.primary", work.close, t("close")));
  work.foot.querySelector(".primary").focus();
}
