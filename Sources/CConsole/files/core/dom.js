/** Elements. Text reaches the document by text nodes alone; there is no way here to write markup. */

const PROPERTIES = new Set(["value", "checked", "disabled", "indeterminate", "tabIndex", "hidden", "readOnly", "selected", "inert"]);

/** An element: `h("button.primary", { onclick, "aria-label": "…" }, "text", child, [children])`. */
export function h(name, properties, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag || "div");
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
export const button = (kind, onclick, ...children) => h("button" + kind, { type: "button", onclick }, ...children);
