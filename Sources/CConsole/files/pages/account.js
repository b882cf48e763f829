/** The form to sign in. Beneath it, a page whose session has ended keeps what was typed. */

import { h, icon, labelled, problemLine, put } from "../core/dom.js";
import { session, signIn, ways } from "../core/session.js";
import { addWords, t } from "../core/words.js";

addWords({
  "signIn.title": "Sign in",
  "signIn.again": "Sign in again",
  "signIn.againHint": "Your session has ended. What you were doing is still here.",
  "signIn.name": "Name",
  "signIn.password": "Password",
  "signIn.masterKey": "Master key",
  "signIn.button": "Sign in",
  "signIn.useKey": "Use the master key",
  "signIn.useName": "Use name and password",
  "signIn.first": "Nobody has an account here yet. Use the master key, or run “roost console open” on the server.",
  "signIn.keyHint": "It is checked once and not kept.",
  "signIn.wait": "Too many tries. Wait {n} {n|second|seconds}.",
  "signIn.empty": "Fill in this field.",
});

let asking = null;

/** Shows the form until somebody is signed in. */
export function askToSignIn(options = {}) {
  asking ??= ask(options).finally(() => { asking = null; });
  return asking;
}

function ask({ isAgain = false, problem }) {
  return new Promise((resolve) => {
    const focused = document.activeElement;
    const offered = ways.peek().ways;
    let usesKey = !offered.includes("operator") && offered.length > 0 || ways.peek().first;
    const message = problemLine();
    const fields = h("div.fields");
    const button = h("button.button.primary", { type: "submit" }, t("signIn.button"));
    const other = h("button.plain");
    const form = h("form", { novalidate: true, "aria-label": t("signIn.title") },
      h(".head", h("span.logo", icon("data")), h("h1", isAgain ? t("signIn.again") : t("signIn.title")), h("span.quiet", location.host)),
      isAgain && h("p.notice", t("signIn.againHint")),
      ways.peek().first && h("p.notice", t("signIn.first")),
      fields, message, button, other);
    const build = () => {
      const field = (label, name, type, autocomplete) => labelled(label,
        h("input", { name, type, autocomplete, spellcheck: "false", autocapitalize: "off", required: true }));
      put(fields, usesKey
        ? [field(t("signIn.masterKey"), "masterKey", "password", "off"), h("small.quiet", t("signIn.keyHint"))]
        : [field(t("signIn.name"), "name", "text", "username"), field(t("signIn.password"), "password", "password", "current-password")]);
      put(other, t(usesKey ? "signIn.useName" : "signIn.useKey"));
      fields.querySelector("input").focus();
    };
    other.addEventListener("click", () => { usesKey = !usesKey; put(message); build(); });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const inputs = [...fields.querySelectorAll("input")];
      const missing = inputs.find((input) => !input.value);
      if (missing) {
        put(message, t("signIn.empty"));
        missing.focus();
        return;
      }
      button.disabled = true;
      put(message);
      const before = session.peek()?.operator;
      try {
        await signIn(Object.fromEntries(inputs.map((input) => [input.name, input.value])));
      } catch (refusal) {
        explain(refusal, message);
        button.disabled = false;
        inputs.at(-1).select();
        inputs.at(-1).focus();
        return;
      }
      // Somebody else finds nothing of what the one before saw.
      if (before && (before.id !== session.peek().operator.id || before.name !== session.peek().operator.name)) {
        location.reload();
        return;
      }
      screen.remove();
      for (const element of covered) element.inert = false;
      focused?.focus?.();
      resolve();
    });
    const covered = [...document.body.children];
    for (const element of covered) element.inert = true;
    // Above dialogs that are open, which lie in the top layer.
    const screen = h(".signin", { popover: "manual" }, form);
    document.body.append(screen);
    screen.showPopover();
    build();
    if (problem) explain(problem, message);
  });
}

function explain(problem, message) {
  const wait = Number(problem.retryAfter);
  put(message, problem.status === 429 && wait ? t("signIn.wait", { n: wait }) : problem.message);
}
