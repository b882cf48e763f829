/** Bytes: as hexadecimal digits, with size and download. */

import { h } from "../../core/dom.js";
import { bytes } from "../../core/format.js";
import { addWords, t } from "../../core/words.js";
import { saveBlob } from "../batches.js";

addWords({
  "bytes.label": "Bytes as hexadecimal digits",
  "bytes.wrong": "Pairs of hexadecimal digits are meant; {text} is none.",
  "bytes.download": "Download",
});

const SOME = 65536;

/** Hexadecimal digits. */
export function edit({ value, row, field }) {
  const data = value ? Uint8Array.from(atob(value.base64), (letter) => letter.charCodeAt(0)) : new Uint8Array();
  const hex = [...data.subarray(0, SOME)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const area = h("textarea", { rows: 12, autofocus: true, spellcheck: "false", value: hex, readOnly: data.length > SOME, "aria-label": t("bytes.label") });
  return {
    body: [h("p.quiet", t("bytes.label"), ` \u00b7 ${bytes(data.length)}`), area],
    extra: h("button.button.start", { type: "button", disabled: data.length === 0, onclick: () => saveBlob(new Blob([data]), `${row.id}-${field.name}.bin`) }, t("bytes.download")),
    read: () => {
      if (area.value === hex) return null;
      const digits = area.value.replace(/\s+/g, "");
      if (digits === "") return { value: undefined };
      const wrong = /[^0-9a-f]/i.exec(digits);
      if (wrong || digits.length % 2) throw new Error(t("bytes.wrong", { text: wrong?.[0] ?? digits.slice(-1) }));
      const next = digits.match(/../g).map((pair) => String.fromCharCode(parseInt(pair, 16))).join("");
      return { value: { __type: "Bytes", base64: btoa(next) } };
    },
    focus: () => area.focus(),
  };
}
