/** Text from outside, shown as what it is: nothing in it can hide, turn around or overlap what stands beside it. */

import { h } from "./dom.js";

// Controls, marks of direction, characters without a width, lone halves of pairs, and heaps of combining marks.
const UNSAFE = new RegExp([
  String.raw`[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]`,
  String.raw`(?<![\p{Extended_Pictographic}\ufe0f])\u200d`,
  String.raw`\u200d(?!\p{Extended_Pictographic})`,
  String.raw`[\u{e0000}-\u{e0fff}]`,
  String.raw`[\ud800-\udfff]`,
  String.raw`\p{M}{5,}`,
].join("|"), "gu");

const NAMES = new Map([["\n", "\u23ce"], ["\t", "\u21e5"], ["\r", "\\r"]]);

function escape(match) {
  const name = NAMES.get(match);
  if (name) return name;
  if (match.length > 4) return `\\u${match.codePointAt(0).toString(16).padStart(4, "0")}\u00d7${[...match].length}`;
  const point = match.codePointAt(0);
  return point > 0xffff ? `\\u{${point.toString(16)}}` : `\\u${point.toString(16).padStart(4, "0")}`;
}

/** At most `limit` characters, never half of a pair. */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text[limit - 1]) ? limit - 1 : limit;
  return text.slice(0, end);
}

/** A text for places that take no elements: titles, labels, sentences. */
export function plain(text, limit = 120) {
  const all = String(text);
  const short = cut(all, limit).replace(UNSAFE, escape);
  return all.length > limit ? short + "\u2026" : short;
}

/** A text as an element that is isolated from its surroundings, with escapes drawn apart. */
export function shown(text, limit = 200) {
  const all = String(text);
  const element = h("bdi.text");
  if (all === "") return drawnApart("empty");
  if (all.length < 10000 && /^ +$/.test(all)) return drawnApart(all.length === 1 ? "1 space" : `${all.length} spaces`);
  const short = cut(all, limit);
  let from = 0;
  for (const match of short.matchAll(UNSAFE)) {
    if (match.index > from) element.append(short.slice(from, match.index));
    element.append(h("i.escape", escape(match[0])));
    from = match.index + match[0].length;
  }
  element.append(short.slice(from));
  if (all.length > limit) element.append(h("i.escape", "\u2026"));
  return element;
}

/** A word of ours in the place of a value, such as "empty" or "null". */
export function drawnApart(word) {
  return h("i.apart", word);
}
