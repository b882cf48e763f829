/** Dialogs and sheets. The focus returns to where it was when one closes. */

import { button, firstFocusable, h } from "../core/dom.js";
import { iconButton } from "../core/icons.js";
import { t } from "../core/words.js";

/**
 * Opens a dialog; `build(close)` gives `{ body, foot }`. Gives a promise of what `close` was called with.
 * Options: `title`, `kind` ("sheet", "wide"), `mayClose()` which may refuse Esc.
 */
export function openDialog({ title, kind = "", mayClose = () => true }, build) {
  const focused = document.activeElement;
  return new Promise((resolve) => {
    let result;
    const element = h("dialog", { class: kind, "aria-label": title });
    const close = (value) => {
      result = value;
      element.close();
    };
    const { body, foot } = build(close, element);
    element.append(
      h(".dialog-head", h("h2", title), iconButton("close", t("close"), () => mayClose() && close())),
      h(".dialog-body", body));
    if (foot) element.append(h(".dialog-foot", foot));
    show(element, focused, mayClose, () => resolve(result));
    const first = element.querySelector("[autofocus]") ?? firstFocusable(element.querySelector(".dialog-body"))
      ?? firstFocusable(element.querySelector(".dialog-foot") ?? element);
    first?.focus();
  });
}

/** Shows a dialog element over the page until it closes. */
export function show(element, focused, mayClose, ended) {
  document.body.append(element);
  element.addEventListener("cancel", (event) => {
    if (event.target === element && !mayClose()) event.preventDefault();
  });
  element.addEventListener("mousedown", (event) => {
    if (event.target === element && mayClose()) element.close();
  });
  element.addEventListener("close", (event) => {
    if (event.target !== element) return;
    element.remove();
    if (focused?.isConnected) focused.focus({ preventScroll: true });
    ended();
  });
  element.showModal();
}

/** Asks before something is done; gives whether it is to be done. `typed` is what must be typed first. */
export function confirm({ title, text, button: words, isDanger = false, typed, typedLabel }) {
  return openDialog({ title }, (close) => {
    const input = typed === undefined ? null : h("input", { autofocus: true, autocomplete: "off", "aria-label": typedLabel });
    const go = h("button", {
      class: isDanger ? "button danger" : "button primary", type: "button", autofocus: !input,
      onclick: () => { if (!input || input.value.trim() === String(typed)) close(true); },
    }, words);
    if (input) {
      go.disabled = true;
      input.addEventListener("input", () => { go.disabled = input.value.trim() !== String(typed); });
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") go.click(); });
    }
    return {
      body: [typeof text === "string" ? h("p", text) : text, input && h("label.stack", h("span.label", typedLabel), input)],
      foot: [button(".button", () => close(false), t("cancel")), go],
    };
  });
}
