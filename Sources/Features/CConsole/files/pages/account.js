/** Sign-in, confirmations of identity, sessions and second factors. */

import { Refusal, send } from "../core/api.js";
import { brand, button, h, labelled, problemLine, put, textField } from "../core/dom.js";
import { session, signIn, ways } from "../core/session.js";
import { addWords, ago, date, plain, shown, t } from "../core/words.js";
import { openDialog, openForm } from "../parts/dialog.js";
import { complain, copyButton, failed, loading, record, recordFinal } from "../parts/states.js";

addWords({
  "signIn.again": "Sign in again", "signIn.againHint": "Your session has ended. What you were doing is still here.", "signIn.code": "Code",
  "signIn.codeHint": "Enter the code from your app.", "signIn.masterKey": "Master key", "signIn.useKey": "Use the master key", "signIn.useName": "Use name and password",
  "signIn.first": "Nobody has an account here yet. Use the master key, or run “roost console open” on the server, with its file and flags.", "signIn.keyHint": "It is checked once and not kept.",
  "signIn.wait": "Too many attempts. Wait {n} {n|second|seconds}.",
});

let asking = null;

/** Shows the sign-in form until an operator has signed in. */
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
    const button = h("button.button.primary", { type: "submit" }, t("word.signIn"));
    const other = h("button.plain");
    const form = h("form", { novalidate: true, "aria-label": t("word.signIn") },
      brand(h("span.quiet", location.host)), h(".head", h("h1", isAgain ? t("signIn.again") : t("word.signIn"))),
      isAgain && h("p.notice", t("signIn.againHint")),
      ways.peek().first && h("p.notice", t("signIn.first")),
      fields, message, button, other);
    let code;
    const build = () => {
      const field = (label, name, type, autocomplete) => labelled(label,
        h("input", { name, type, autocomplete, spellcheck: "false", autocapitalize: "off", required: true }));
      put(fields, usesKey
        ? [field(t("signIn.masterKey"), "masterKey", "password", "off"), h("small.quiet", t("signIn.keyHint"))]
        : [field(t("word.name"), "name", "text", "username"), field(t("word.password"), "password", "password", "current-password")]);
      code = labelled(t("signIn.code"), h("input", { name: "code", inputmode: "numeric", autocomplete: "one-time-code" }));
      put(other, t(usesKey ? "signIn.useName" : "signIn.useKey"));
      fields.querySelector("input").focus();
    };
    other.addEventListener("click", () => { usesKey = !usesKey; put(message); build(); });
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const inputs = [...fields.querySelectorAll("input")];
      const missing = inputs.find((input) => !input.value);
      if (missing) {
        put(message, t("word.fillIn"));
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
        if (refusal.body?.needs === "code" && !code.isConnected) {
          put(message, t("signIn.codeHint"));
          fields.append(code);
          inputs.push(code.querySelector("input"));
        }
        inputs.at(-1).select();
        inputs.at(-1).focus();
        return;
      }
      // Another operator must not see the previous one's data.
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
    // Above open dialogs, which are in the top layer.
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

addWords({
  "confirm.title": "Confirm that it is you", "confirm.text": "You can't undo this. You are not asked again for 15 minutes.", "confirm.go": "Continue",
  "account.sessions": "Sessions", "account.this": "this browser", "account.used": "{who}, {address}, used {when}",
  "account.passwordHint": "A new password ends all of your sessions, this one too.", "account.newAgain": "Repeat the new password",
  "account.notSame": "The passwords differ.", "account.totp": "Codes at sign-in", "account.totpOn": "Each sign-in asks for a code.",
  "account.totpOff": "With an authenticator app, your password alone is not enough.", "account.setUp": "Set up", "account.turnOn": "Turn on",
  "account.turnOff": "Turn off", "account.secret": "Key for the app",
});

const secretField = () => textField({ type: "password", autofocus: true, autocomplete: "current-password" });
const codeField = () => textField({ inputmode: "numeric", autocomplete: "one-time-code", maxlength: "6" });

/** Asks for the password or the key before a call is repeated. Throws the rejection if it isn't confirmed. */
export async function askToConfirm(refusal) {
  const { id, name, totp } = session.peek().operator;
  const secret = id || name !== "this machine" ? secretField() : null;
  const code = totp && codeField();
  const isConfirmed = await openForm({ title: t("confirm.title"), button: t("confirm.go") }, () => ({
    body: [h("p", t("confirm.text")), secret && labelled(t(id ? "word.password" : "signIn.masterKey"), secret), code && labelled(t("signIn.code"), code)],
    async save() {
      await send("POST", "confirm", { body: secret ? { [id ? "password" : "masterKey"]: secret.value, code: code?.value } : {}, isRepeatable: true });
      return true;
    },
  }));
  if (!isConfirmed) throw new Refusal(403, refusal);
}

export function openAccount() {
  const host = h(".form", loading(3));
  openDialog({ title: t("rail.account"), kind: "sheet" }, () => ({ body: host }));
  draw(host);
}

async function draw(host) {
  try {
    const { body } = await send("GET", "sessions");
    const { id, totp } = session.peek().operator;
    put(host, h("h3", t("account.sessions")), body.sessions.map((entry) => line(entry, () => draw(host))),
      id && [h("h3", t("word.password")), h(".line", h("p.grow", t("account.passwordHint")), button(".button", changePassword, t("word.change"))),
        h("h3", t("account.totp")), h(".line", h("p.grow", t(totp ? "account.totpOn" : "account.totpOff")),
        button(".button", () => changeTOTP(totp, host), t(totp ? "account.turnOff" : "account.setUp")))]);
  } catch (problem) {
    put(host, failed(problem, () => draw(host)));
  }
}

function line(entry, again) {
  const end = async () => {
    try {
      await send("DELETE", "sessions/" + encodeURIComponent(entry.id));
      record(t("word.ended"));
    } catch (problem) {
      complain(problem);
    }
    again();
  };
  return h(".line.member", h(".grow", h("div", shown(entry.agent || "\u2013", 90)),
    h(".quiet", { title: date(entry.createdAt, true) }, t("account.used", { who: entry.operator, address: entry.address, when: ago(entry.usedAt) }))),
  entry.isThis ? h("span.tag", t("account.this")) : button(".button", end, t("word.end")));
}

async function changePassword() {
  const [first, second] = [0, 1].map((number) => textField({ type: "password", autocomplete: "new-password", autofocus: number === 0 }));
  const isChanged = await openForm({ title: t("word.password"), button: t("word.change") }, () => ({
    body: [h("p", t("account.passwordHint")), labelled(t("word.newPassword"), first), labelled(t("account.newAgain"), second)],
    async save() {
      if (first.value !== second.value) throw new Error(t("account.notSame"));
      await send("PUT", "password", { body: { password: first.value } });
      recordFinal(t("word.newPassword"));
      return true;
    },
  }));
  // The next request finds that the session has ended, and asks for the new password.
  if (isChanged) await send("GET", "sessions");
}

async function changeTOTP(isOn, host) {
  try {
    if (isOn) await send("DELETE", "totp");
    else if (!(await setUp((await send("POST", "totp", { body: {}, isRepeatable: true })).body))) return;
    recordFinal(t("account.totp"));
    session.set({ ...session.peek(), operator: { ...session.peek().operator, totp: !isOn } });
  } catch (problem) {
    complain(problem);
  }
  draw(host);
}

function setUp({ secret, url }) {
  const code = codeField();
  return openForm({ title: t("account.totp"), button: t("account.turnOn") }, () => ({
    body: [labelled(t("account.secret"), h("code.wrap", plain(secret.replace(/.{4}(?=.)/g, "$& ")))),
      h(".line", copyButton(url, t("word.copy"))), labelled(t("signIn.code"), code)],
    async save() {
      await send("PUT", "totp", { body: { secret, code: code.value.trim() } });
      return true;
    },
    focus: () => code.select(),
  }));
}
