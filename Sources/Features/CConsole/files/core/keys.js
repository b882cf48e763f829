/** Keyboard shortcuts. Newer scopes take precedence. Keys typed into fields belong to the fields. */

import { isTyping } from "./dom.js";

const scopes = [];
let prefix = "";
let prefixTimer;

const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Returns the keys of an event as text: "Mod+k", "Shift+ArrowDown", "g d". */
export function combination(event) {
  const names = [];
  // On a Mac, Option changes or removes the character of a key.
  const key = isMac && event.altKey && /^Key[A-Z]$/.test(event.code) ? event.code.at(-1).toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey) names.push("Mod");
  if (event.altKey) names.push("Alt");
  if (event.shiftKey && key.length > 1) names.push("Shift");
  names.push(key === " " ? "Space" : key.length === 1 && names.length ? key.toLowerCase() : key);
  return names.join("+");
}

export function readable(keys) {
  return keys.replace("Mod+", isMac ? "\u2318" : "Ctrl+").replace("Alt+", isMac ? "\u2325" : "Alt+").replace("Shift+", "\u21e7")
    .replace("ArrowUp", "\u2191").replace("ArrowDown", "\u2193");
}

/**
 * Adds shortcuts until `scope` (an AbortSignal) ends: `{ "Mod+k": { do(event) {…}, words: "…" } }`. Shortcuts with `isAlways` also work in
 * fields and below dialogs. Those without `do` are only listed.
 */
export function addKeys(title, table, scope) {
  const entry = { title, table: new Map(Object.entries(table)) };
  scopes.push(entry);
  scope?.addEventListener("abort", () => scopes.splice(scopes.indexOf(entry), 1));
}

/** Returns all active shortcuts, newest scope first, with the shortcuts of the same action combined. */
export const list = () => scopes.toReversed().map(({ title, table }) => {
  const rows = new Map();
  for (const [keys, { words }] of table) rows.set(words, rows.has(words) ? `${rows.get(words)} / ${keys}` : keys);
  return { title, rows: [...rows] };
});

/** Whether a dialog covers the page. */
export const isCovered = () => document.querySelector("dialog[open]") !== null;

export function start() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const keys = combination(event);
    // Choices have no undo of their own.
    const isOwn = isTyping() && !(document.activeElement.tagName === "SELECT" && keys.startsWith("Mod+"));
    const sequence = prefix ? `${prefix} ${keys}` : "";
    for (const { table } of scopes.toReversed()) {
      const found = table.get(sequence) ?? table.get(keys);
      if (!found?.do) continue;
      if (!found.isAlways && (isOwn || isCovered())) continue;
      if (found.do(event) === false) continue;
      event.preventDefault();
      prefix = "";
      return;
    }
    clearTimeout(prefixTimer);
    prefix = keys === "g" && !isTyping() ? "g" : "";
    prefixTimer = setTimeout(() => { prefix = ""; }, 1000);
  });
}
