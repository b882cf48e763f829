/** Menus and small panels beside what opened them. */

import { firstFocusable, h, icon } from "../core/dom.js";

/** Opens a panel beside an element (or a place `{ x, y }`); gives a function that closes it. */
export function openPanel(anchor, content, { label, onclose, role } = {}) {
  const focused = document.activeElement;
  const element = h(".menu", { popover: "auto", "aria-label": label, role });
  element.append(content);
  // Inside a dialog the panel must be a part of it, else it lies beneath.
  ((anchor instanceof Element && anchor.closest("dialog")) || document.querySelector("dialog[open]") || document.body).append(element);
  const close = () => element.isConnected && element.hidePopover();
  element.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    element.remove();
    if (anchor instanceof Element) anchor.removeAttribute("aria-expanded");
    if (hadFocus && focused?.isConnected) focused.focus({ preventScroll: true });
    onclose?.();
  });
  element.showPopover();
  const box = anchor instanceof Element ? anchor.getBoundingClientRect() : { left: anchor.x, bottom: anchor.y, top: anchor.y };
  const size = element.getBoundingClientRect();
  const top = box.bottom + 4 + size.height > innerHeight - 8 ? Math.max(8, box.top - size.height - 4) : box.bottom + 4;
  element.style.top = `${top}px`;
  element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
  if (anchor instanceof Element) anchor.setAttribute("aria-expanded", "true");
  firstFocusable(element)?.focus();
  return close;
}

/** Opens a menu of `{ words, icon, do, isDanger, isChecked }`; null is a line between groups. */
export function openMenu(anchor, rows, options) {
  const list = h("div", { role: "none" });
  let close;
  for (const row of rows) {
    if (row === null) list.append(h("hr"));
    else if (row) {
      list.append(h("button", {
        type: "button", role: row.isChecked === undefined ? "menuitem" : "menuitemcheckbox",
        "aria-checked": row.isChecked === undefined ? null : String(row.isChecked), class: row.isDanger ? "danger" : "",
        onclick: () => { close(); row.do(); },
      }, row.isChecked === undefined ? row.icon && icon(row.icon) : row.isChecked ? icon("check") : h("i.icon"), h("span", row.words), row.keys && h("kbd", row.keys)));
    }
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...list.querySelectorAll("button")];
    buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    event.preventDefault();
  });
  close = openPanel(anchor, list, { role: "menu", ...options });
  return close;
}
