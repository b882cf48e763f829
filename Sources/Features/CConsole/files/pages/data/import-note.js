/** An import ends when its tab is closed: the browser asks before, and the page reports afterwards what was stored. */

import { addWords, plain, t } from "../../core/words.js";
import { toast } from "../../parts/states.js";

addWords({ "import.left": "The import of {name} ended with its tab: {n} {n|row was|rows were} stored." });

const KEY = "roost.import";
/** The milliseconds without progress after which an import counts as ended. */
const SILENCE = 5000;

/** Records that an import is running. */
export function startNote(className, name) {
  let stored = 0;
  let isLeft = false;
  const write = () => localStorage.setItem(KEY, JSON.stringify({ className, name, stored, at: Date.now() }));
  const ask = (event) => event.preventDefault();
  const leave = ({ type }) => { isLeft = type === "pagehide"; };
  write();
  addEventListener("beforeunload", ask);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", leave);
  const timer = setInterval(write, 1000);
  return {
    update(n) {
      stored = n;
      write();
    },
    /** If the page is being closed, its requests fail too. That must not look like the end of the import. */
    end() {
      if (isLeft) return;
      clearInterval(timer);
      removeEventListener("beforeunload", ask);
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", leave);
      localStorage.removeItem(KEY);
    },
  };
}

/** Reports how far an import of a class came whose tab was closed. */
export function tellLeft(className, scope) {
  let left;
  try {
    left = JSON.parse(localStorage.getItem(KEY));
  } catch {
    localStorage.removeItem(KEY);
  }
  if (left?.className !== className || scope.aborted) return;
  const rest = Math.min(SILENCE, left.at + SILENCE - Date.now());
  if (rest > 0) {
    setTimeout(() => tellLeft(className, scope), rest);
    return;
  }
  localStorage.removeItem(KEY);
  toast(t("import.left", { name: plain(left.name, 60), n: Number(left.stored) || 0 }), { seconds: 60 });
}
