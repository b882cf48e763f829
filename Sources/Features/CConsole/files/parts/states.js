/** What is said about work: lists that are loading, empty or refused; short messages at the bottom; what can be undone. */

import { button, h, icon } from "../core/dom.js";
import { session } from "../core/session.js";
import { plain, t } from "../core/words.js";

/** Grey bars, which appear when loading takes longer than a moment. */
export function loading(rows = 8) {
  const bars = Array.from({ length: rows }, (_, index) => h("i", { style: { width: `${90 - ((index * 37) % 50)}%` } }));
  return h(".skeleton", { "aria-busy": "true" }, bars);
}

/** Nothing here: what for, and how to get the first. */
export function empty({ picture = "data", title, text, actions = [] }) {
  return h(".state", h(".badge", icon(picture)), h("h2", title), h("p", text), h(".actions", actions));
}

/** A table: `titles` are `[words, ".right"]`, rows are lists of cells, the first of which names its row. On a phone each row is a card. */
export const table = (label, titles, rows) => h("table.list", { "aria-label": label },
  h("thead", h("tr", titles.map(([words, kind = ""]) => h("th" + kind, { scope: "col" }, words || h("span.sr", t("grid.more")))))),
  h("tbody", rows.map((cells) => h("tr", cells.map((cell, index) => h((index ? "td" : "th") + (titles[index][1] ?? ""), index ? { "data-label": titles[index][0].textContent ?? titles[index][0] } : { scope: "row" }, cell))))));

/** What was refused, in the server's words, with code and request to copy. */
export function failed(problem, again) {
  const isForbidden = problem.status === 403;
  const details = [problem.request && plain(problem.request), problem.code !== undefined && t("error.code", { code: String(problem.code) }),
    problem.requestId && t("error.request", { id: problem.requestId })].filter(Boolean).join(" · ");
  return h(".state.failed", { role: "alert" }, h(".badge", icon(isForbidden ? "lock" : "warn")),
    h("h2", t(isForbidden ? "error.notAllowed" : "error.failed")), h("p", plain(problem.message, 500)),
    isForbidden && h("p", t("error.notAllowedHint", { role: session.peek()?.operator.role ?? "" })),
    details && h("p.mono", details),
    h(".actions",
      again && button(".button.primary", again, icon("refresh"), t("error.again")),
      copyButton(`${problem.message}\n${details}`)));
}

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
  if (action) element.append(h("button", { onclick: () => { end(); action.do(); } }, action.words));
  element.append(h("button", { "aria-label": t("close"), onclick: end }, icon("close")));
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

/** Says why something was not done. */
export const complain = (problem) => toast(problem.message, { isBad: true });

/** Copies a text and says so. */
export const copy = (text) => (async () => navigator.clipboard.writeText(text))().then(() => toast(t("word.copied")), complain);

/** A button that copies a text. */
export const copyButton = (text, words = t("error.copy")) => button(".button", () => copy(text), icon("copy"), words);

const LIMIT = 30;
const steps = [];

let changes = 0;

/** The number of a change that is made now, for `record`: what is made last is undone first, whenever its answer comes. */
export const newChange = () => (changes += 1);

/**
 * Keeps a change, and says it; `undo` takes it back, and throws when it cannot: an error with `isUnfinished` keeps it for another time.
 * Without `undo` there is no way back, which is said in the place of taking back what was before it.
 */
export function record(words, undo, change = newChange()) {
  const step = { words, undo, change };
  keep(step);
  if (steps.length > LIMIT) steps.shift();
  step.end = toast(words, undo && { action: { words: t("undo"), do: () => take(step) } });
}

function keep(step) {
  steps.push(step);
  steps.sort((left, right) => left.change - right.change);
}

/** How many changes are being stored, and a promise of whether the last one was. */
const storing = { n: 0, last: undefined };

/** Lets the key of undo wait for a change that is being stored: until then it is none of the steps. `work` gives whether it was. */
export function whileStoring(work) {
  storing.n += 1;
  storing.last = Promise.allSettled([storing.last, work]).then(([, { value }]) => {
    storing.n -= 1;
    return value === true;
  });
  return work;
}

/** The same for work whose caller records the change right after it. */
export async function whileRecording(work) {
  const before = steps.at(-1);
  let end;
  whileStoring(new Promise((resolve) => { end = resolve; }));
  try {
    return await work;
  } finally {
    setTimeout(() => end(steps.at(-1) !== before));
  }
}

/** Takes back the last change; one that was refused meanwhile is taken back already. */
export async function undoLast() {
  if (storing.n > 0 && !(await storing.last)) return;
  const step = steps.at(-1);
  if (step) take(step);
}

let undoing = Promise.resolve();

/** Takes a change back after those that are being taken back: it goes by what they leave. */
function take(step) {
  if (!steps.includes(step)) return;
  steps.splice(steps.indexOf(step), 1);
  step.end();
  undoing = undoing.then(() => carryOut(step));
}

async function carryOut(step) {
  try {
    const words = step.undo ? await step.undo() : t("undo.none", { what: step.words });
    if (words) toast(words);
  } catch (problem) {
    if (problem.isUnfinished) keep(step);
    step.end = toast(problem.message, { isBad: true, action: problem.isUnfinished && { words: t("undo"), do: () => take(step) } });
  }
}
