/** Offers objects that came since the rows were read; nothing moves under the reader's eyes. */

import { h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { t } from "../../core/words.js";
import "../../data/words.js";

const EVERY = 5000;

/** Asks now and then while the page is in view. */
export function watchNewer(page) {
  const host = page.newer;
  const timer = setInterval(async () => {
    const { rows } = page;
    if (document.hidden || !rows.isCounted || rows.length === 0) return;
    let newer = 0;
    try {
      newer = await rows.countNewer(page.scope);
    } catch {
      return;
    }
    if (page.scope.aborted || rows !== page.rows) return;
    put(host, newer > 0 && h("button.pill", { type: "button", title: t("grid.newRowsHint"), onclick: () => { put(host); page.reload(); } },
      icon("up"), t("grid.newRows", { n: newer })));
  }, EVERY);
  page.scope.addEventListener("abort", () => clearInterval(timer));
}
