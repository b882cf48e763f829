/** The address is the state of the page: page, class, object, filter and order. */

import { base } from "./api.js";
import { signal } from "./signal.js";

function read() {
  // Addresses of other consoles follow a #.
  const parts = (location.hash.startsWith("#/") ? location.hash.slice(1) : location.pathname.slice(base.length)).split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { page: parts[0] ?? "", parts: parts.slice(1), query: new URLSearchParams(location.search) };
}

/** The address as `{ page, parts, query }`. */
export const route = signal(read());

/** Returns the address of a page: `address("data", ["Track", id], { where })`. */
export function address(page, parts = [], query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(entries).toString();
  return base + [page, ...parts].map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

/** Returns the address of a page. Permissions open with the class of the rows or schema before. */
export function pageAddress(name) {
  const { page, parts } = route.peek();
  return address(name, name === "access" && ["data", "schema"].includes(page) ? parts.slice(0, 1) : []);
}

const leaving = new Set();

/** Calls a function before navigation leaves the page, until `scope` ends. */
export function onLeave(body, scope) {
  leaving.add(body);
  scope.addEventListener("abort", () => leaving.delete(body));
}

/** Navigates to an address. With `isReplacing`, replaces the current history entry. */
export function go(to, isReplacing = false) {
  if (to === location.pathname + location.search + location.hash) return;
  for (const body of leaving) body();
  history[isReplacing ? "replaceState" : "pushState"]({ from: isReplacing ? remembered().from : location.pathname }, "", to);
  route.set(read());
}

/** Leaves a page for the one that contains it: goes back if that is the previous entry, which keeps its filter and position. */
export const leave = (to) => (remembered().from === to ? history.back() : go(to));

/** Stores values in the current history entry, such as the scroll position of a list. */
export function remember(values) {
  history.replaceState({ ...history.state, ...values }, "");
}

/** Returns the values that `remember` stored in the current history entry. */
export const remembered = () => history.state ?? {};

/** Starts following the browser's back and forward buttons, and links inside the console. */
export function start() {
  addEventListener("popstate", () => route.set(read()));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(base)) return;
    event.preventDefault();
    (link.matches(".back, .crumb") ? leave : go)(link.pathname + link.search);
  });
}
