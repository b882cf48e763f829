/** Short messages at the bottom; errors stay until they are closed. */

import { h, icon } from "../core/dom.js";
import { t } from "../core/words.js";

let host;

/** Says something; `action` is `{ words, do }`. Gives a function that takes the message away. */
export function toast(text, { action, isBad = false, seconds = isBad ? 20 : 6 } = {}) {
  host ??= document.body.appendChild(h(".toasts", { role: "status", "aria-live": "polite", popover: "manual" }));
  const element = h(isBad ? ".toast.bad" : ".toast", h("span", text));
  const end = () => {
    if (element.contains(document.activeElement)) focusBefore?.focus();
    element.remove();
    if (!host.childElementCount) host.hidePopover?.();
  };
  const focusBefore = document.activeElement;
  if (action) element.append(h("button", { type: "button", onclick: () => { end(); action.do(); } }, action.words));
  element.append(h("button", { type: "button", "aria-label": t("close"), onclick: end }, icon("close")));
  while (host.childElementCount > 2) host.firstElementChild.remove();
  host.append(element);
  // Above dialogs, which lie in the top layer, too.
  host.hidePopover?.();
  host.showPopover?.();
  let timer = setTimeout(end, seconds * 1000);
  element.addEventListener("mouseenter", () => clearTimeout(timer));
  element.addEventListener("mouseleave", () => { timer = setTimeout(end, 3000); });
  return end;
}

const LIMIT = 30;
const steps = [];

/** Keeps a change, and says it; `undo` takes it back, and throws when it cannot. */
export function record(words, undo) {
  const step = { words, undo };
  steps.push(step);
  if (steps.length > LIMIT) steps.shift();
  step.end = toast(words, { action: { words: t("undo"), do: () => take(step) } });
}

/** Takes back the last change. */
export function undoLast() {
  const step = steps.at(-1);
  if (step) take(step);
}

async function take(step) {
  const place = steps.indexOf(step);
  if (place < 0) return;
  steps.splice(place, 1);
  step.end();
  try {
    const words = await step.undo();
    if (words) toast(words);
  } catch (problem) {
    toast(problem.message, { isBad: true });
  }
}
