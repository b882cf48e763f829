/** What can be undone: the last thirty changes of a visit. */

import { t } from "../core/words.js";
import { toast } from "../parts/toast.js";

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
