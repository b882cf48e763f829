/** Long texts, with line numbers and length. */

import { h, put } from "../../core/dom.js";
import { bytes } from "../../core/format.js";
import { addWords, t } from "../../core/words.js";

addWords({ "text.length": "{n} {n|character|characters}, {size}, {lines} lines", "text.label": "Text" });

/** A large text field. */
export function edit({ value, text }) {
  const area = h("textarea.tall", { autofocus: true, value: text ?? value ?? "", spellcheck: "true", "aria-label": t("text.label") });
  const numbers = h(".numbers", { "aria-hidden": "true" });
  const length = h("span.quiet.start");
  const draw = () => {
    const lines = area.value.split("\n").length;
    if (numbers.childElementCount !== Math.min(lines, 2000)) put(numbers, Array.from({ length: Math.min(lines, 2000) }, (_, index) => h("div", String(index + 1))));
    put(length, t("text.length", { n: area.value.length, size: bytes(new Blob([area.value]).size), lines }));
  };
  area.addEventListener("input", draw);
  area.addEventListener("scroll", () => { numbers.style.transform = `translateY(${-area.scrollTop}px)`; }, { passive: true });
  draw();
  // A text field turns each kind of line end into one; a text that was not touched keeps its own.
  const shown = area.value;
  return {
    body: h(".numbered", h(".gutter", numbers), area), extra: length,
    read: () => (text === undefined && area.value === shown ? null : { value: area.value }), focus: () => area.focus(),
  };
}
