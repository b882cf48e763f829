/** Two people changed one field: whose value is to stay. */

import { button, h } from "../core/dom.js";
import { ago } from "../core/format.js";
import { t } from "../core/words.js";
import { openDialog } from "../parts/dialog.js";
import { drawValue } from "./cells.js";

/** Asks; gives whether mine is to be saved. */
export async function askWhoseValue({ field, theirs, mine, at }) {
  const side = (words, value) => h(".card", h("span.label", words), h(".value", drawValue(value, field) || t("pointer.clear")));
  return Boolean(await openDialog({ title: t("conflict.title") }, (close) => ({
    body: [h("p", t("conflict.text", { field: field.name, when: ago(at) })), h(".pair", side(t("conflict.theirs"), theirs), side(t("conflict.mine"), mine))],
    foot: [
      button(".button", () => close(false), t("conflict.keepTheirs")),
      h("button.button.primary", { type: "button", autofocus: true, onclick: () => close(true) }, t("conflict.keepMine")),
    ],
  })));
}
