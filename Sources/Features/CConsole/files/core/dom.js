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

/** The drawings of index.html, kept when the page takes their place. */
const icons = globalThis.document?.querySelector("#icons");

/** An icon; words beside it or a label of its button say what it means. */
export function icon(name) {
  const shape = icons.querySelector(`[data-icon="${name}"]`).cloneNode(true);
  return svg("svg", { viewBox: shape.dataset.box ?? "0 0 16 16", class: "icon", "aria-hidden": "true" }, shape);
}

/** The mark and the name of Roost. */
export const brand = (...below) => h(".brand", h("span.logo", icon("roost")), h("span.grow", h("span.wordmark", { role: "img", "aria-label": "Roost" }, icon("wordmark")), below));

/** A button of an icon alone; the label says what it does. */
export const iconButton = (name, label, onclick) => h("button.plain", { "aria-label": label, onclick }, icon(name));
