/** Work that goes on at the server: a line with a bar and a stop. */

import { send } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { addWords, plain, t } from "../core/words.js";
import { complain } from "./states.js";

addWords({ });

/** The line of a task that `begin` gives, and a promise of its result; null when it was stopped. */
export function follow(begin, label) {
  const bar = h("progress", { max: "100", "aria-label": label });
  const words = h("span.quiet", { role: "status" }, label);
  let path;
  const stop = button(".button", () => send("DELETE", path).catch(complain), t("word.stop"));
  stop.disabled = true;
  const run = async () => {
    let task = await begin();
    path = "tasks/" + encodeURIComponent(task.id);
    stop.disabled = false;
    while (task.state === "running" || task.state === "waiting") {
      bar.value = task.done;
      put(words, plain(task.message || label, 120), " ", t("word.percent", { percent: Math.round(task.done) }));
      task = (await send("GET", path, { query: { wait: 1 } })).body;
    }
    stop.disabled = true;
    if (task.state === "failed") throw new Error(plain(task.message, 500));
    return task.state === "cancelled" ? null : task.result;
  };
  return { element: h(".line.wrap.building", words, h(".grow", bar), stop), finished: run() };
}
