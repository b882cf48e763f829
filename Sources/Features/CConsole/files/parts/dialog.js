/** Dialogs, sheets, menus and panels above the page. Closing one returns the focus to where it was. */

import { button, firstFocusable, h, icon, iconButton, labelled, problemLine, put, textField } from "../core/dom.js";
import { plain, t } from "../core/words.js";
import { complain, whileRecording } from "./states.js";

/**
 * Opens a dialog; `build(close)` returns `{ body, foot }`. Returns a promise of the value passed to `close`. Options: `title`, `kind`
 * ("sheet", "wide"), and `mayClose()`, which may prevent closing with Esc.
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
 * Opens a dialog with fields; `build()` returns `{ body, save(), focus(), extra }`. Returns the result of `save`; its errors are displayed
 * below the fields, or beside the error's `input`. Enter saves, in a long sheet Ctrl+Enter. With `asks`, Esc asks before it discards entries. Closing a form while it is being
 * stored cancels nothing: the result is still returned, and errors are still shown.
 */
export async function openForm({ title, kind, button: words, asks, isShort = !kind }, build) {
  let saving;
  let wrong;
  let discard;
  let isEntered = false;
  const mayClose = () => !asks || !isEntered || saving || discard();
  const given = await openDialog({ title, kind, mayClose }, (close, element) => {
    const problem = problemLine();
    discard = () => void confirm({ title: t("form.discard", { title }), text: t("form.lost"), button: t("form.sure"), isDanger: true }).then((isSure) => isSure && close());
    for (const name of ["input", "change", "click"]) element.addEventListener(name, ({ target }) => { isEntered ||= name !== "click" || target.closest(".dialog-body button") !== null; });
    // A click outside the dialog doesn't discard a form that was edited. Not all edits are typed.
    for (const name of ["input", "click", "keydown"]) element.addEventListener(name, ({ target }) => { element.isTouched ||= target !== element; });
    const { body, save, focus = () => firstFocusable(element.querySelector(".dialog-body"))?.focus(), extra } = build(close);
    const go = button(".button.primary", async () => {
      go.disabled = true;
      put(problem);
      wrong?.removeAttribute("aria-invalid");
      try {
        saving = (async () => save())();
        close(await saving);
      } catch (refusal) {
        if (!element.isConnected) return;
        saving = undefined;
        go.disabled = false;
        put(problem, plain(refusal.message, 300));
        wrong = refusal.input;
        (wrong?.closest("label, .field-row") ?? element.querySelector(".dialog-body")).append(problem);
        wrong?.setAttribute("aria-invalid", "true");
        wrong ? wrong.focus() : focus(refusal);
        problem.scrollIntoView({ block: "nearest" });
      }
    }, words);
    element.addEventListener("keydown", (event) => {
      // Browsers allow only the first of two successive Esc keys to be canceled later.
      if (event.key === "Escape" && !event.defaultPrevented && !mayClose()) event.preventDefault();
      if (event.key !== "Enter" || event.defaultPrevented || !(event.ctrlKey || event.metaKey || (isShort && event.target.matches("input")))) return;
      event.preventDefault();
      go.click();
    });
    return { body: [body, problem], foot: [extra, button(".button", () => close(), t("cancel")), go] };
  });
  return given === undefined && saving ? whileRecording(saving).catch(complain) : given;
}

const labelOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

/** Finds the redrawn twin of a button or link that was removed. */
const twin = (element) => (/^(BUTTON|A)$/.test(element?.tagName) ? [...document.querySelectorAll(`:is(main, dialog[open]) ${element.tagName}`)].find((other) => labelOf(other) === labelOf(element)) : undefined);

/** Redraws a part of the page. The focus returns to the same element, or else to the first one. */
export function keepFocus(host, draw) {
  const had = host.contains(document.activeElement) ? document.activeElement : null;
  draw();
  if (had && had !== document.activeElement) (had.isConnected ? had : twin(had) ?? firstFocusable(host.querySelector(".scroll") ?? host))?.focus({ preventScroll: true });
}

/** Shows a dialog element above the page until it closes. */
export function show(element, focused, mayClose, ended) {
  document.body.append(element);
  element.addEventListener("cancel", (event) => {
    if (event.target === element && !mayClose()) event.preventDefault();
  });
  element.addEventListener("mousedown", (event) => {
    if (event.target === element && !element.isTouched && mayClose()) element.close();
  });
  element.addEventListener("close", (event) => {
    if (event.target !== element) return;
    element.remove();
    (focused?.isConnected ? focused : twin(focused))?.focus({ preventScroll: true });
    ended();
  });
  element.showModal();
}

/** Creates a button that gets the focus when its dialog opens. */
export const firstButton = (kind, onclick, words) => h("button" + kind, { autofocus: true, onclick }, words);

/** Asks for a confirmation and returns whether it was given; `typed` is a text that must be typed first. */
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

/** Opens a panel next to an element or a position `{ x, y }`. Returns a function that closes it. */
export function openPanel(anchor, content, { label, onclose, role } = {}) {
  const focused = document.activeElement;
  const element = h(".menu", { popover: "auto", "aria-label": label, role });
  element.append(content);
  // Inside a dialog the panel must be its descendant, otherwise the dialog would cover it.
  ((anchor instanceof Element && anchor.closest("dialog")) || document.querySelector("dialog[open]") || document.body).append(element);
  const close = () => element.isConnected && element.hidePopover();
  element.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    const hadFocus = element.contains(document.activeElement) || document.activeElement === document.body;
    element.remove();
    if (anchor instanceof Element) anchor.removeAttribute("aria-expanded");
    if (hadFocus && focused?.isConnected) focused.focus({ preventScroll: true });
    onclose?.();
  });
  element.showPopover();
  const box = anchor instanceof Element ? anchor.getBoundingClientRect() : { left: anchor.x, bottom: anchor.y, top: anchor.y };
  const size = element.getBoundingClientRect();
  const top = box.bottom + 4 + size.height > innerHeight - 8 ? Math.max(8, box.top - size.height - 4) : box.bottom + 4;
  element.style.top = `${top}px`;
  element.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
  if (anchor instanceof Element) anchor.setAttribute("aria-expanded", "true");
  firstFocusable(element)?.focus();
  return close;
}

/** Opens a menu of `{ words, icon, do, isDanger, isChecked }`; null is a separator. */
export function openMenu(anchor, rows, options) {
  const list = h("div", { role: "none" });
  let close;
  for (const row of rows) {
    if (row === null) list.append(h("hr"));
    else if (row) {
      list.append(h("button", {
        role: row.isChecked === undefined ? "menuitem" : "menuitemcheckbox",
        "aria-checked": row.isChecked === undefined ? null : String(row.isChecked), class: row.isDanger ? "danger" : "",
        onclick: () => { close(); row.do(); },
      }, row.isChecked === undefined ? row.icon && icon(row.icon) : row.isChecked ? icon("check") : h("i.icon"), h("span", row.words), row.keys && h("kbd", row.keys)));
    }
  }
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...list.querySelectorAll("button")];
    buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length].focus();
    event.preventDefault();
  });
  close = openPanel(anchor, list, { role: "menu", ...options });
  return close;
}
