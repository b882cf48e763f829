/** Creates elements. Text enters the document only through text nodes; there is no way to write markup. */

const PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "tabIndex", "hidden", "readOnly", "selected", "inert"]);

/** Creates an element: `h("button.primary", { onclick, "aria-label": "…" }, "text", child, [children])`. */
export function h(name, properties, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
  if (tag === "button") element.type = "button";
  if (classes.length) element.className = classes.join(" ");
  return fill(element, properties, children);
}

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

export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

/** Whether typed keys belong to the focused element. */
export function isTyping(target = document.activeElement) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    && !/^(checkbox|radio|button)$/.test(target.type);
}

/** Returns the first element inside that can take the focus. */
export function firstFocusable(element) {
  return element.querySelector("[autofocus]") ?? element.querySelector(
    "input:not([disabled]), textarea, select, button:not([disabled]), a[href], [tabindex='0']");
}

/** Returns a function that calls `body` once calls have paused for a time. */
export function debounce(milliseconds, body) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => body(...values), milliseconds);
  };
}

/** Creates a button: `button(".button.primary", action, "text")`. */
export const button = (kind, onclick, ...children) => h("button" + kind, { onclick }, ...children);

/** Creates a label above its controls. */
export const labelled = (words, ...controls) => h("label.stack", h("span.label", words), ...controls);

export const problemLine = () => h("p.problem", { role: "alert" });

/** Creates a one-line text field without autocompletion and spelling checks. */
export const textField = (properties) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...properties });

export const option = (value, words, selected) => h("option", { value, selected }, words);

/** Turns the documents that a text names, such as docs/push.md, into links. The server serves them beside these modules. */
export const linked = (text) => text.split(/(docs\/[a-z-]+\.md)/).map((part, index) => (index % 2 ? h("a", { href: import.meta.resolve("../" + part), target: "_blank" }, part) : part));

/** The icons in index.html, kept when the page replaces them. */
const icons = globalThis.document?.querySelector("#icons");

/** Creates an icon. Text next to it or the label of its button must say what it means. */
export function icon(name) {
  const shape = icons.querySelector(`[data-icon="${name}"]`).cloneNode(true);
  return svg("svg", { viewBox: shape.dataset.box ?? "0 0 16 16", class: "icon", "aria-hidden": "true" }, shape);
}

export const brand = (...below) => h(".brand", h("span.logo", icon("roost")), h("span.grow", h("span.wordmark", { role: "img", "aria-label": "Roost" }, icon("wordmark")), below));

/** Creates a button with only an icon. The label says what it does. */
export const iconButton = (name, label, onclick) => h("button.plain", { "aria-label": label, onclick }, icon(name));
