/** Work on many objects: batches of 200, with a bar, a rate, a stop, and a list of what failed. */

import { parse } from "../core/api.js";
import { button, h, put } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { addWords, t } from "../core/words.js";
import { openDialog } from "../parts/dialog.js";

addWords({
  "batch.of": "{done} of {total}",
  "batch.rate": "{rate} a second, {left} s left",
  "batch.stop": "Stop",
  "batch.stopped": "Stopped: {done} of {total} are done, the others are as they were.",
  "batch.done": "All {total} are done.",
  "batch.failed": "{n} failed",
  "batch.download": "Download the list ({size})",
  "batch.lost": "The connection was lost after {done} of {total}; up to 200 more may be done.",
});

/** Objects in a request. */
export const BATCH = 200;

/** A dialog with a bar: `{ signal, advance(done, failures), finish(), end() }`. */
export function openProgress(title, total) {
  const control = new AbortController();
  const bar = h("progress", { max: String(total), value: 0, "aria-label": title });
  const words = h("p", { role: "status" });
  const rate = h("p.quiet");
  const stop = button(".button", () => control.abort(), t("batch.stop"));
  let close;
  const began = performance.now();
  const closed = openDialog({ title, mayClose: () => stop.hidden || (control.abort(), false) }, (end) => {
    close = end;
    return { body: [bar, words, rate], foot: [stop] };
  });
  const self = {
    signal: control.signal, closed, failures: [], done: 0,
    advance(done) {
      self.done = done;
      bar.value = done;
      put(words, t("batch.of", { done, total }));
      const speed = done / ((performance.now() - began) / 1000);
      put(rate, speed > 0 ? t("batch.rate", { rate: Math.round(speed), left: Math.round((total - done) / speed) }) : "");
    },
    /** Closes, or tells what was not done. */
    end(isLost = false) {
      const { done, failures } = self;
      if (done >= total && failures.length === 0) {
        close();
        return;
      }
      put(words, isLost ? t("batch.lost", { done, total }) : done < total ? t("batch.stopped", { done, total }) : t("batch.done", { total }));
      const text = failures.map(({ id, error, code }) => `${id}\t${code ?? ""}\t${error}`).join("\n");
      put(rate, failures.length > 0 && [h("strong.bad", t("batch.failed", { n: failures.length })), " ", failures[0].error, " ", download(text)]);
      stop.hidden = true;
      stop.after(button(".button.primary", () => close(), t("close")));
    },
  };
  self.advance(0);
  return self;
}

function download(text) {
  const blob = new Blob([text], { type: "text/tab-separated-values" });
  return button(".link", () => saveBlob(blob, "failures.tsv"), t("batch.download", { size: bytes(blob.size) }));
}

/** Hands a file to the browser. */
export function saveBlob(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Sends a request for each of a list, by `BATCH`; gives `{ done }`, what succeeded. Stops between two batches. */
export async function runBatches(list, requestOf, progress) {
  const done = [];
  let handled = 0;
  for (let from = 0; from < list.length && !progress.signal.aborted; from += BATCH) {
    const some = list.slice(from, from + BATCH);
    let answers;
    try {
      answers = (await parse.post("batch", { requests: some.map(requestOf) })).body;
    } catch (problem) {
      if (problem.status === 0) {
        progress.end(true);
        return { done };
      }
      answers = some.map(() => ({ error: { error: problem.message, code: problem.code } }));
    }
    some.forEach((item, index) => {
      const answer = answers[index];
      if (answer?.success) done.push(item);
      else progress.failures.push({ id: typeof item === "string" ? item : item.id, ...answer?.error });
    });
    handled += some.length;
    progress.advance(handled);
  }
  return { done };
}
