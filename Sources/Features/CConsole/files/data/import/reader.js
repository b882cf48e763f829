/** Reads the records of files of any size in pieces, after detecting encoding and format. */

import { addWords, bytes, t } from "../../core/words.js";

addWords({
  "import.badBytes": "The file is not in this encoding. Choose another.",
  "import.longCell": "The value on line {line} is larger than {size}. That is too large to import.", "import.wide": "Line {line} has more than {n} columns.",
  "import.noObjects": "Line {line}: expected objects, as a list or one per line.",
  "import.open": "The file ends in the middle of the object that begins on line {line}.",
});

const CHUNK = 65536;
/** The maximum length of a value in characters. */
const LONGEST = 16_000_000;
const WIDEST = 1000;

/** Yields to the event loop, so that the page stays responsive. */
export const breathe = () => globalThis.scheduler?.yield?.() ?? new Promise((resolve) => setTimeout(resolve));

/** Reads the records of CSV: `{ line, cells }`. An empty cell is null, or "" if quoted. */
export class TableReader {
  constructor(delimiter) {
    this.delimiter = delimiter;
    this.stop = new RegExp(`[${delimiter === "\t" ? "\\t" : "\\" + delimiter}\\r\\n]`, "g");
    Object.assign(this, { line: 1, firstLine: 1, cells: [], cell: "", isQuoted: false, isInside: false, mayRepeat: false, skipsFeed: false, isAfterReturn: false });
  }

  /** Adds a piece of text and returns the records that it completes. */
  push(text) {
    const records = [];
    let at = 0;
    while (at < text.length) {
      if (this.skipsFeed) {
        this.skipsFeed = false;
        if (text[at] === "\n") {
          at += 1;
          continue;
        }
      }
      if (this.isInside) {
        const end = text.indexOf('"', at);
        this.add(text.slice(at, end < 0 ? undefined : end));
        if (end < 0) break;
        at = end + 1;
        [this.isInside, this.mayRepeat] = [false, true];
        continue;
      }
      if (this.mayRepeat) {
        this.mayRepeat = false;
        if (text[at] === '"') {
          this.add('"');
          this.isInside = true;
          at += 1;
          continue;
        }
      }
      if (text[at] === '"' && this.cell === "" && !this.isQuoted) {
        [this.isInside, this.isQuoted] = [true, true];
        at += 1;
        continue;
      }
      this.stop.lastIndex = at;
      const end = this.stop.exec(text)?.index ?? text.length;
      this.add(text.slice(at, end));
      if (end === text.length) break;
      at = end + 1;
      this.endCell();
      if (text[end] === this.delimiter) continue;
      this.skipsFeed = text[end] === "\r";
      this.line += 1;
      this.endRecord(records);
    }
    return records;
  }

  /** Returns the record after the last line break. */
  end() {
    const records = [];
    if (this.cell !== "" || this.isQuoted || this.cells.length > 0) {
      this.endCell();
      this.endRecord(records);
    }
    return records;
  }

  add(text) {
    if (text === "") return;
    if (this.isInside) this.line += lineBreaks(text) - (this.isAfterReturn && text[0] === "\n" ? 1 : 0);
    this.isAfterReturn = this.isInside && text.endsWith("\r");
    this.cell += text;
    if (this.cell.length > LONGEST) throw new Error(t("import.longCell", { size: bytes(LONGEST), line: this.firstLine }));
  }

  endCell() {
    this.cells.push(this.cell === "" && !this.isQuoted ? null : this.cell);
    [this.cell, this.isQuoted, this.mayRepeat] = ["", false, false];
    if (this.cells.length > WIDEST) throw new Error(t("import.wide", { line: this.firstLine, n: WIDEST }));
  }

  endRecord(records) {
    // Skips empty lines.
    if (this.cells.length > 1 || this.cells[0] !== null) records.push({ line: this.firstLine, cells: this.cells });
    [this.cells, this.firstLine] = [[], this.line];
  }
}

const lineBreaks = (text) => text.match(/\r\n?|\n/g)?.length ?? 0;

const WRAPPED = /^\s*\{\s*"(?:results|rows)"\s*:\s*\[/;

/** Reads the objects of JSON, in an array or one per line, as texts: `{ line, text }`. */
export class ObjectReader {
  constructor() {
    Object.assign(this, { head: "", line: 1, depth: -1, base: 0, text: "", firstLine: 1, isInside: false, isEscaped: false, isOver: false });
  }

  push(text) {
    if (this.depth >= 0) return this.scan(text);
    this.head += text;
    if (this.head.trim() === "" || (this.head.length < 200 && this.head.trimStart().startsWith("{"))) return [];
    return this.begin();
  }

  begin() {
    const { head } = this;
    const start = (WRAPPED.exec(head) ?? /^\s*\[/.exec(head))?.[0] ?? "";
    this.line += start.split("\n").length - 1;
    this.depth = this.base = start ? 1 : 0;
    this.head = "";
    return this.scan(head.slice(start.length));
  }

  scan(text) {
    const objects = [];
    let from = 0;
    for (let at = 0; at < text.length && !this.isOver; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 10) this.line += 1;
      if (this.isInside) {
        if (this.isEscaped) this.isEscaped = false;
        else if (code === 92) this.isEscaped = true;
        else if (code === 34) this.isInside = false;
      } else if (this.depth === this.base) {
        if (code === 123) {
          [from, this.firstLine] = [at, this.line];
          this.depth += 1;
        } else if (code === 93 && this.base === 1) this.isOver = true;
        else if (code > 32 && code !== 44) throw new Error(t("import.noObjects", { line: this.line }));
      } else if (code === 34) this.isInside = true;
      else if (code === 123 || code === 91) this.depth += 1;
      else if ((code === 125 || code === 93) && --this.depth === this.base) {
        objects.push({ line: this.firstLine, text: this.text + text.slice(from, at + 1) });
        this.text = "";
        from = at + 1;
      }
    }
    if (this.depth > this.base) this.text += text.slice(from);
    if (this.text.length > LONGEST) throw new Error(t("import.longCell", { size: bytes(LONGEST), line: this.firstLine }));
    return objects;
  }

  end() {
    const objects = this.depth < 0 && this.head.trim() !== "" ? this.begin() : [];
    if (this.depth > this.base) throw new Error(t("import.open", { line: this.firstLine }));
    return objects;
  }
}

/** Detects the format of a file: `{ kind: "csv" or "json", encoding, delimiter }`. */
export async function detect(file) {
  const start = new Uint8Array(await file.slice(0, 1_000_000).arrayBuffer());
  const encoding = encodingOf(start);
  const text = new TextDecoder(encoding).decode(start.slice(0, CHUNK));
  const isTable = /\.(csv|tsv|txt)$/i.test(file.name) || !/^\s*[[{]/.test(text);
  return { kind: isTable ? "csv" : "json", encoding, delimiter: isTable ? delimiterOf(text) : "," };
}

function encodingOf(start) {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  const zeros = [0, 0];
  for (let at = 0; at < Math.min(start.length, 1000); at += 1) if (start[at] === 0) zeros[at % 2] += 1;
  if (Math.max(...zeros) > Math.min(start.length, 1000) / 4) return zeros[1] > zeros[0] ? "utf-16le" : "utf-16be";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(start, { stream: true });
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

/** Returns the separator that gives the first records the same number of columns, and the most columns. */
function delimiterOf(text) {
  const score = (delimiter) => {
    try {
      const widths = new TableReader(delimiter).push(text.endsWith("\n") ? text : text + "\n").slice(0, 20).map(({ cells }) => cells.length);
      const least = Math.min(...widths);
      return least > 1 ? least + (widths.every((width) => width === least) ? 1000 : 0) : 0;
    } catch {
      return 0;
    }
  };
  return [",", ";", "\t", "|"].map((delimiter) => [score(delimiter), delimiter]).reduce((best, other) => (other[0] > best[0] ? other : best))[1];
}

/** Yields all records of a file; `progress` receives the number of bytes read. */
export async function* records(file, { kind, encoding, delimiter }, progress = () => {}, signal = undefined) {
  const decoder = new TextDecoder(encoding, { fatal: encoding === "utf-8" });
  const reader = kind === "csv" ? new TableReader(delimiter) : new ObjectReader();
  for (let at = 0; at < file.size; at += CHUNK) {
    signal?.throwIfAborted();
    const piece = await file.slice(at, at + CHUNK).arrayBuffer();
    let text;
    try {
      text = decoder.decode(piece, { stream: at + CHUNK < file.size });
    } catch {
      throw new Error(t("import.badBytes"));
    }
    progress(Math.min(at + CHUNK, file.size));
    yield* reader.push(text);
    await breathe();
  }
  yield* reader.end();
}
