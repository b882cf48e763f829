/** Elements. Text reaches the document by text nodes alone; there is no way here to write markup. */

const PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "tabIndex", "hidden", "readOnly", "selected", "inert"]);

/** An element: `h("button.primary", { onclick, "aria-label": "…" }, "text", child, [children])`. */
export function h(name, properties, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (tag === "button") element.type = "button";
  if (classes.length) element.className = classes.join(" ");
  return fill(element, properties, children);
}

/** An element of SVG. */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes ?? {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function fill(element, properties, children) {
  if (properties instanceof Node || Array.isArray(properties) || typeof properties !== "object") {
    children = [properties, ...children];
    properties = null;
  }
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || (value === false && !PROPERTIES.has(key))) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
    else if (PROPERTIES.has(key)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child);
  }
}

/** Puts children in the place of those that an element has. */
export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** Whether keys that are typed belong to the element that has the focus. */
export function isTyping(target = document.activeElement) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    && !/^(checkbox|radio|button)$/.test(target.type);
}

/** The first thing in an element that takes the focus. */
export function firstFocusable(element) {
  return element.querySelector("[autofocus]") ?? element.querySelector(
    "input:not([disabled]), textarea, select, button:not([disabled]), a[href], [tabindex='0']");
}

/** Calls a function after the last of several calls within a time. */
export function debounce(milliseconds, body) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => body(...values), milliseconds);
  };
}

/** A button: `button(".button.primary", action, "text")`. */
export const button = (kind, onclick, ...children) => h("button" + kind, { onclick }, ...children);

/** A control below its label. */
export const labelled = (words, ...controls) => h("label.stack", h("span.label", words), ...controls);

/** The line that says what is wrong with a form. */
export const problemLine = () => h("p.problem", { role: "alert" });

/** A field for a line of text that is no prose. */
export const textField = (properties) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...properties });

/** A choice in a list. */
export const option = (value, words, selected) => h("option", { value, selected }, words);

const PATHS = {
  data: "M2 4c0-1.1 2.7-2 6-2s6 .9 6 2-2.7 2-6 2-6-.9-6-2zm0 0v8c0 1.1 2.7 2 6 2s6-.9 6-2V4M2 8c0 1.1 2.7 2 6 2s6-.9 6-2",
  schema: "M2 2.500h5v4H2zM9 9.500h5v4H9zM4.500 6.500v5H9",
  shield: "M8 1.500l5.500 2v4c0 3.500-2.300 5.800-5.500 7-3.200-1.200-5.500-3.500-5.500-7v-4zM5.500 8l2 2 3-3.500",
  users: "M6 8a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5zM1.500 13.500c0-2.500 2-4 4.500-4s4.500 1.500 4.500 4M11 3.200a2.500 2.500 0 0 1 0 4.600M12 9.800c1.600.500 2.500 1.800 2.500 3.700",
  config: "M2 4.500h7M12 4.500h2M2 11.500h2M7 11.500h7M10.500 3v3M5.500 10v3",
  chart: "M2.500 2.500v11h11M5 10.500l2.500-4 2.500 2 3-5",
  logs: "M2 3.500h1.500M6 3.500h8M2 8h1.500M6 8h8M2 12.500h1.500M6 12.500h8",
  cloud: "M4.500 12.500a3 3 0 0 1 0-6 4 4 0 0 1 7.600 1 2.500 2.500 0 0 1-.300 5z",
  push: "M4 11.500V7a4 4 0 0 1 8 0v4.500l1 1H3zM6.500 14h3",
  live: "M8 8h.01M5.200 10.800a4 4 0 0 1 0-5.600M10.800 5.200a4 4 0 0 1 0 5.600M3 13a7 7 0 0 1 0-10M13 3a7 7 0 0 1 0 10",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.500V8l2.500 1.500",
  trash: "M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9M6.7 7v4M9.3 7v4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5l3.5 3.5L13 5",
  chevron: "M6 3.5L10.5 8 6 12.5",
  down: "M3.5 6L8 10.5 12.5 6",
  up: "M3.5 10L8 5.5 12.5 10",
  more: "M2.6 8h.8M7.600 8h.8M12.600 8h.8",
  out: "M6 2.5H3v11h3M7 8h7M11 5l3 3-3 3",
  filter: "M2 3.5h12L9.5 9v4l-3-1.5V9z",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  panel: "M2.5 3h11v10h-11zM9.5 3v10",
  link: "M6.5 9.5l3-3M7 4.5l1-1a3 3 0 0 1 4.5 4.5l-1 1M9 11.5l-1 1A3 3 0 0 1 3.500 8l1-1",
  file: "M4 1.500h5l3 3v10H4zM9 1.500v3h3",
  refresh: "M13 8a5 5 0 1 1-1.500-3.500M13 2v3h-3",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  undo: "M6 3L3 6l3 3M3 6h6a4 4 0 0 1 0 8H6",
  warn: "M8 2.500l6 10.500H2zM8 6.500v3M8 11.300h.01",
  lock: "M4 7.500h8v6H4zM5.500 7.500V5a2.500 2.500 0 0 1 5 0v2.500",
  bookmark: "M4 2.500h8v11L8 10.500l-4 3z",
  keyboard: "M1.500 4h13v8h-13zM4 6.500h.01M6.700 6.500h.01M9.300 6.500h.01M12 6.500h.01M5 9.500h6",
  code: "M5.500 4.500L2 8l3.500 3.500M10.500 4.500L14 8l-3.500 3.500",
  back: "M9.500 3.500L5 8l4.500 4.500",
};

/** An icon; words beside it or a label of its button say what it means. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" },
    svg("path", { d: PATHS[name] }));
}

/** A button of an icon alone; the label says what it does. */
export const iconButton = (name, label, onclick) => h("button.plain", { "aria-label": label, onclick }, icon(name));
