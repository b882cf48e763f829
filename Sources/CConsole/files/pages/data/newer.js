/** Offers objects that came since the rows were read; nothing moves under the reader's eyes. */

import { h, put } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { t } from "../../core/words.js";
import "../../data/words.js";

const EVERY = 5000;
/** A reader who does nothing for so long is away: a session must be able to end. */
const AWAY = 300000;

/** Asks now and then while the page is read; the seldomer, the longer an answer takes. */
export function watchNewer(page) {
  let active = Date.now();
  for (const kind of ["keydown", "pointermove", "wheel"]) {
    addEventListener(kind, () => { active = Date.now(); }, { signal: page.scope, passive: true });
  }
  const ask = async () => {
    const { rows } = page;
    const began = performance.now();
    if (!document.hidden && Date.now() - active < AWAY && rows.isCounted && rows.length > 0) {
      try {
        const n = await rows.countNewer(page.scope);
        if (rows === page.rows) offer(page, n);
      } catch {
        // The next answer says it.
      }
    }
    if (!page.scope.aborted) setTimeout(ask, Math.max(EVERY, (performance.now() - began) * 50));
  };
  setTimeout(ask, EVERY);
}

function offer(page, n) {
  put(page.newer, n > 0 && h("button.pill", {
    type: "button", title: t("grid.newRowsHint"), onclick: () => { put(page.newer); page.reload(); },
  }, icon("up"), t("grid.newRows", { n })));
}
