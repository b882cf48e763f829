/** Lines of equal height, of which those in view are in the document, and no others. */

import { h, put } from "../../core/dom.js";

/** Rows above and below the view that are drawn as well. */
const MARGIN = 12;

/** Makes a list: `draw(item)` gives what a row shows, `open(item)` is called for one that is chosen. */
export function lineList({ label, draw, open, moved }) {
  const body = h(".log-body", { role: "presentation" });
  const element = h(".log", { role: "listbox", tabIndex: 0, "aria-label": label, onscroll: () => later(), onkeydown: (event) => press(event) }, body);
  const row = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 32;
  let items = [];
  let active = -1;
  let planned = 0;
  const isAtEnd = () => element.scrollTop + element.clientHeight >= items.length * row() - 4;
  const later = () => {
    planned ||= requestAnimationFrame(() => {
      planned = 0;
      redraw();
      moved?.(isAtEnd());
    });
  };
  function redraw() {
    const height = row();
    const first = Math.max(0, Math.floor(element.scrollTop / height) - MARGIN);
    const last = Math.min(items.length, Math.ceil((element.scrollTop + element.clientHeight) / height) + MARGIN);
    body.style.height = `${items.length * height}px`;
    put(body, items.slice(first, last).map((item, index) => {
      const place = first + index;
      return h(".log-row", {
        role: "option", id: `log-${place}`, "aria-selected": String(place === active), "aria-posinset": String(place + 1), "aria-setsize": String(items.length),
        style: { transform: `translateY(${place * height}px)` }, onclick: () => { active = place; redraw(); open(item); },
      }, draw(item));
    }));
    if (active >= 0) element.setAttribute("aria-activedescendant", `log-${active}`);
    else element.removeAttribute("aria-activedescendant");
  }
  function press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -items.length, End: items.length };
    if (event.key === "Enter" && items[active]) open(items[active]);
    else if (!(event.key in steps) || items.length === 0 || event.ctrlKey || event.metaKey) return;
    else {
      const from = active < 0 ? (steps[event.key] < 0 ? items.length : -1) : active;
      active = Math.min(items.length - 1, Math.max(0, from + steps[event.key]));
      const height = row();
      element.scrollTop = Math.min(active * height, Math.max(element.scrollTop, (active + 1) * height - element.clientHeight));
      redraw();
    }
    event.preventDefault();
  }
  return {
    element, isAtEnd,
    /** Shows items; `before` says how many came in front of what was shown, or went there where it is below 0. */
    show(next, { before = 0, toEnd = false } = {}) {
      items = next;
      if (active >= 0) active = Math.min(items.length - 1, Math.max(-1, active + before));
      body.style.height = `${items.length * row()}px`;
      if (toEnd) element.scrollTop = items.length * row();
      else if (before) element.scrollTop += before * row();
      redraw();
    },
    toEnd() {
      element.scrollTop = items.length * row();
      later();
    },
  };
}
