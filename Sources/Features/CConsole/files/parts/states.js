/** The states of lists (loading, empty, failed), short messages, and undo. */

import { button, h, icon, linked, put } from "../core/dom.js";
import { session } from "../core/session.js";
import { plain, t } from "../core/words.js";

/** Creates gray bars, which appear if loading takes longer than a moment. */
export function loading(rows = 8) {
  const bars = Array.from({ length: rows }, (_, index) => h("i", { style: { width: `${90 - ((index * 37) % 50)}%` } }));
  return h(".skeleton", { "aria-busy": "true" }, bars);
}

/** Creates the state of an empty list: its purpose, and how to add the first entry. */
export function empty({ picture = "data", title, text, actions = [], more }) {
  return h(".state", h(".badge", icon(picture)), h("h2", title), h("p", linked(text)), h(".actions", actions), more);
}

/**
 * Creates a table: `titles` are `[words, ".right"]`, rows are lists of cells, the first of which names its row. On phones each row is a
 * card.
 */
export const table = (label, titles, rows) => h("table.list", { "aria-label": label },
  h("thead", h("tr", titles.map(([words, kind = ""]) => h("th" + kind, { scope: "col" }, words || h("span.sr", t("grid.more")))))),
  h("tbody", rows.map((cells) => h("tr", cells.map((cell, index) => h((index ? "td" : "th") + (titles[index][1] ?? ""), index ? { "data-label": titles[index][0].textContent ?? titles[index][0] } : { scope: "row" }, cell))))));

/** Creates the state of a failed request: the server's message, and the code and request id to copy. Retries while the server fails. */
export function failed(problem, again) {
  const isForbidden = problem.status === 403;
  const details = [problem.request && plain(problem.request), problem.code !== undefined && t("error.code", { code: String(problem.code) }),
    problem.requestId && t("error.request", { id: problem.requestId })].filter(Boolean).join(" · ");
  const element = h(".state.failed", { role: "alert" }, h(".badge", icon(isForbidden ? "lock" : "warn")),
    h("h2", t(isForbidden ? "error.notAllowed" : "error.failed")), h("p", plain(problem.message, 500)),
    isForbidden && h("p", t("error.notAllowedHint", { role: session.peek()?.operator.role ?? "" })),
    details && h("p.mono", details),
    h(".actions",
      again && button(".button.primary", again, icon("refresh"), t("error.again")),
      copyButton(`${problem.message}\n${details}`)));
  if (again && problem.status >= 500) setTimeout(function retry() { if (element.isConnected) document.hidden ? setTimeout(retry, 3000) : again(); }, 3000);
  return element;
}

/** Reads and shows something in an element, or else the error, with another try. */
export const reading = (host, scope, read) => read().catch((problem) => scope.aborted || put(host, failed(problem, () => reading(host, scope, read))));

let host;

/** Shows a message; `action` is `{ words, do }`. Returns a function that removes the message. */
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
  // Above dialogs, which are also in the top layer.
  host.hidePopover?.();
  host.showPopover?.();
  let timer = setTimeout(end, seconds * 1000);
  element.addEventListener("mouseenter", () => clearTimeout(timer));
  element.addEventListener("mouseleave", () => { timer = setTimeout(end, 3000); });
  return end;
}

/** Offers in an element to show what was changed elsewhere. Without words, removes the offer. */
export const offer = (host, words, show) => put(host, words && h("button.pill", { onclick: () => { put(host); show(); } }, icon("refresh"), words));

/** Shows the error of a failed action. */
export const complain = (problem) => toast(problem.message, { isBad: true });

/** Copies a text and confirms it. */
export const copy = (text) => (async () => navigator.clipboard.writeText(text))().then(() => toast(t("word.copied")), complain);

/** Creates a button that copies a text. */
export const copyButton = (text, words = t("error.copy")) => button(".button", () => copy(text), icon("copy"), words);

const LIMIT = 30;
const steps = [];

let changes = 0;

/** Returns the number of a change made now, for `record`. The latest change is undone first, whenever its response arrives. */
export const newChange = () => (changes += 1);

/**
 * Records a change and shows a message; `undo` reverts it and throws if it can't. An error with `isUnfinished` keeps the change for another
 * try. A change without `undo` can't be reverted, and the undo shortcut says so instead of reverting an earlier one. It may offer another
 * `action`.
 */
export function record(words, undo, change = newChange(), action = undefined) {
  const step = { words, undo, change, action };
  keep(step);
  step.end = toast(words, { action: undo ? { words: t("undo"), do: () => take(step) } : action });
}

/** Records a change that can't be undone, without a message. */
export const recordFinal = (words, change = newChange()) => keep({ words, change });

function keep(step) {
  steps.push(step);
  steps.sort((left, right) => left.change - right.change);
  if (steps.length > LIMIT) steps.shift();
}

/** The number of changes being stored, and a promise of whether the last one was stored. */
const storing = { n: 0, last: undefined };

/** Makes the undo shortcut wait for a change that is being stored; `work` returns whether it was stored. */
export function whileStoring(work) {
  storing.n += 1;
  storing.last = Promise.allSettled([storing.last, work]).then(([, { value }]) => {
    storing.n -= 1;
    return value === true;
  });
  return work;
}

/** Like `whileStoring`, for work whose caller records the change right afterward. */
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

/** Undoes the last change. One that was rejected in the meantime is already undone. */
export async function undoLast() {
  if (storing.n > 0 && !(await storing.last)) return;
  const step = steps.at(-1);
  if (step) take(step);
}

let undoing = Promise.resolve();

/** Undoes a change after undos in progress, because it depends on their result. */
function take(step) {
  if (!steps.includes(step)) return;
  steps.splice(steps.indexOf(step), 1);
  step.end?.();
  undoing = undoing.then(() => carryOut(step));
}

async function carryOut(step) {
  try {
    const words = step.undo ? await step.undo() : t("undo.none", { what: step.words });
    if (words) toast(words, { action: step.action });
  } catch (problem) {
    if (problem.isUnfinished) keep(step);
    step.end = toast(problem.message, { isBad: true, action: problem.isUnfinished && { words: t("undo"), do: () => take(step) } });
  }
}
