/** The address is the state of the page: which page, which class and object, filter and order. */

import { base } from "./api.js";
import { signal } from "./signal.js";

function read() {
  const parts = location.pathname.slice(base.length).split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: parts[0] ?? "", parts: parts.slice(1), query: new URLSearchParams(location.search) };
}

/** `{ page, parts, query }` of the address. */
export const route = signal(read());

/** The address of a page: `address("data", ["Track", id], { where })`. */
export function address(page, parts = [], query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(entries).toString();
  return base + [page, ...parts].map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

const leaving = new Set();

/** Calls a function before the page goes elsewhere, until `scope` ends. */
export function onLeave(body, scope) {
  leaving.add(body);
  scope.addEventListener("abort", () => leaving.delete(body));
}

/** Goes to an address; in the place of the present one with `isReplacing`. */
export function go(to, isReplacing = false) {
  if (to === location.pathname + location.search) return;
  for (const body of leaving) body();
  history[isReplacing ? "replaceState" : "pushState"](null, "", to);
  route.set(read());
}

/** Keeps something beside the present entry of the history, such as where a list was scrolled to. */
export function remember(values) {
  history.replaceState({ ...history.state, ...values }, "");
}

/** What `remember` kept beside the present entry. */
export const remembered = () => history.state ?? {};

/** Follows the browser's own buttons, and links inside the console. */
export function start() {
  addEventListener("popstate", () => route.set(read()));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(base)) return;
    event.preventDefault();
    go(link.pathname + link.search);
  });
}
