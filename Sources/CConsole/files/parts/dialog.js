/** Dialogs and sheets. The focus returns to where it was when one closes. */

import { button, firstFocusable, h, iconButton, labelled, problemLine, put, textField } from "../core/dom.js";
import { plain, t } from "../core/words.js";

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
    const { body, foot = button(".button.primary", () => close(), t("close")) } = build(close, element);
    element.append(
      h(".dialog-head", h("h2", title), iconButton("close", t("close"), () => mayClose() && close())),
      h(".dialog-body", body), h(".dialog-foot", foot));
    show(element, focused, mayClose, () => resolve(result));
    const first = element.querySelector("[autofocus]") ?? firstFocusable(element.querySelector(".dialog-body"))
      ?? firstFocusable(element.querySelector(".dialog-foot"));
    first?.focus();
  });
}

/**
 * Opens a dialog with fields; `build()` gives `{ body, save(), focus(), extra }`. What `save` gives is given; what it throws stands below
 * the fields. Enter saves, in a sheet together with Ctrl.
 */
export function openForm({ title, kind, button: words }, build) {
  return openDialog({ title, kind }, (close, element) => {
    const problem = problemLine();
    const { body, save, focus = () => firstFocusable(element.querySelector(".dialog-body"))?.focus(), extra } = build(close);
    const go = button(".button.primary", async () => {
      go.disabled = true;
      put(problem);
      try {
        close(await save());
      } catch (refusal) {
        go.disabled = false;
        put(problem, plain(refusal.message, 300));
        focus();
      }
    }, words);
    element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.defaultPrevented || !(event.ctrlKey || event.metaKey || (!kind && event.target.matches("input")))) return;
      event.preventDefault();
      go.click();
    });
    return { body: [body, problem], foot: [extra, button(".button", () => close(), t("cancel")), go] };
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

/** A button that has the focus when its dialog opens. */
export const firstButton = (kind, onclick, words) => h("button" + kind, { type: "button", autofocus: true, onclick }, words);

/** Asks before something is done; gives whether it is to be done. `typed` is what must be typed first. */
export function confirm({ title, text, button: words, isDanger = false, typed, typedLabel }) {
  return openDialog({ title }, (close) => {
    const input = typed === undefined ? null : textField({ autofocus: true, "aria-label": typedLabel });
    const isTyped = () => !input || input.value.trim() === String(typed);
    const go = (input ? button : firstButton)(isDanger ? ".button.danger" : ".button.primary", () => isTyped() && close(true), words);
    go.disabled = !isTyped();
    input?.addEventListener("input", () => { go.disabled = !isTyped(); });
    input?.addEventListener("keydown", (event) => { if (event.key === "Enter") go.click(); });
    return {
      body: [typeof text === "string" ? h("p", text) : text, input && labelled(typedLabel, input)],
      foot: [button(".button", () => close(false), t("cancel")), go],
    };
  });
}
