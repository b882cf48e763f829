/** Fuzzes the console's CSV and JSON readers for the given number of seconds: `node Fuzzing/csv.mjs 60`. */

import assert from "node:assert/strict";
import { register } from "node:module";

// Node.js would load the console's .js files as CommonJS.
const load = `export const load = (url, context, next) => next(url, url.endsWith(".js") ? { ...context, format: "module" } : context)`;
register(`data:text/javascript,${encodeURIComponent(load)}`);
const { detect, ObjectReader, records, TableReader } = await import("../Sources/Features/CConsole/files/data/import/reader.js");

const random = (count) => Math.floor(Math.random() * count);
const pick = (list) => list[random(list.length)];
const words = ['"', '""', ",", ";", "\t", "|", "\r", "\n", "\r\n", " ", "a", "é", "\u{1F984}", "\0", "\u{FEFF}", "{", "}", "[", "]", ":", "\\", '{"results":[', "1"];
const text = (count) => Array.from({ length: random(count) }, () => pick(words)).join("");

/** Returns the records of a text that arrives in pieces, or the reader's error. */
function read(make, pieces) {
  const reader = make();
  const found = [];
  try {
    for (const piece of pieces) found.push(...reader.push(piece));
    found.push(...reader.end());
  } catch (error) {
    if (!/^Line |^The file ends|^A value has/.test(error.message)) throw error;
    return error.message;
  }
  return found;
}

function cut(text, most = 4) {
  const pieces = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + random(most);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}

let delimiter = ",";
const makers = [() => new TableReader(delimiter), () => new ObjectReader()];

function check(text) {
  delimiter = pick([",", ";", "\t", "|"]);
  for (const make of makers) assert.deepEqual(read(make, cut(text)), read(make, [text]));
}

/** Inputs of past failures. */
const failed = ['"a\r\nb"\r\nc', '"a\r""\nb"\nc'];

/** Checks that a written table is read back unchanged. */
function checkTable() {
  const rows = Array.from({ length: 1 + random(5) }, () => Array.from({ length: 1 + random(4) }, () => text(6)));
  const file = rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",")).join("\r\n");
  assert.deepEqual(read(() => new TableReader(","), cut(file)).map(({ cells }) => cells), rows);
}

/** Checks that a text of 16 times the length takes at most 48 times as long. */
function checkGrowth(start, part, end) {
  const times = [1 << 16, 1 << 20].map((size) => {
    const pieces = (start + part.repeat(size / part.length) + end).match(/.{1,65536}/gsu) ?? [];
    const began = process.cpuUsage();
    for (const make of makers) read(make, pieces);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  });
  assert(times[1] < 1000 || times[1] < times[0] * 48, `${JSON.stringify([start, part, end])}: ${times} ms`);
}

async function checkFile() {
  const bytes = Uint8Array.from({ length: random(200) }, () => pick([0, 10, 13, 34, 44, 59, 91, 123, 125, 255, 254, 195, 169, 97, 97, 97]));
  const file = new File([bytes], pick(["a.csv", "a.json", "a"]));
  try {
    for await (const record of records(file, await detect(file))) assert(record.line >= 1);
  } catch (error) {
    if (!/^Line |^The file |^A value has/.test(error.message)) throw error;
  }
}

for (const text of failed) assert.deepEqual(read(makers[0], cut(text, 1)), read(makers[0], [text]), text);

const end = performance.now() + 1000 * Number(process.argv[2] ?? 60);
let runs = 0;
for (; performance.now() < end; runs += 1) {
  const input = text(40);
  try {
    check(input);
    checkTable();
    await checkFile();
    if (runs % 500 === 0) checkGrowth(text(4), text(6) || ",", text(4));
  } catch (error) {
    console.error("csv: failed on", JSON.stringify(input));
    throw error;
  }
}
console.log(`csv: ${runs} inputs`);
