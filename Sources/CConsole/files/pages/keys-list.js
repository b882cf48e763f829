/** The keys that work on the page, as a list. */

import { h } from "../core/dom.js";
import { list, readable } from "../core/keys.js";
import { t } from "../core/words.js";
import { openDialog } from "../parts/dialog.js";

/** Shows the list. */
export function open() {
  openDialog({ title: t("keys.title"), kind: "" }, () => ({
    body: h(".keys", list().flatMap(({ title, rows }) => [
      h("h3", title),
      ...rows.flatMap(([keys, { words }]) => [h("span", words), h("span", keys.split(" / ").map((one) => [h("kbd", readable(one)), " "]))]),
    ])),
  }));
}
