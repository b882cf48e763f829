/** The server's settings by topic, with their sources. */

import { send } from "../../core/api.js";
import { button, debounce, h, icon, labelled, linked, option, put, textField } from "../../core/dom.js";
import { mayChangeClasses, session, setTitle } from "../../core/session.js";
import { addWords, ago, drawnApart, plain, shown, t } from "../../core/words.js";
import { openDialog, openForm } from "../../parts/dialog.js";
import { complain, copy, copyButton, failed, loading, reading, record } from "../../parts/states.js";

addWords({
  "settings.hint": "Where an option is set twice, flags win, then environment variables, then the configuration file.", "settings.find": "Find an option",
  "settings.changed": "Only options that are set", "settings.copy": "Copy without secrets", "settings.option": "Option",
  "settings.source": "Set by", "settings.secret": "set, and not shown", "settings.none": "No option has that name.",
  "settings.flag": "flag {from}", "settings.environment": "variable {from}", "settings.file": "configuration file", "settings.stored": "changed here by {from}", "settings.preset": "default of the option preset",
  "settings.default": "default", "settings.else": "otherwise {value}", "settings.noEffect": "has no effect", "settings.push": "Check push keys", "settings.works": "works",
  "settings.change": "How to change {name}", "settings.lines": "Paste after the first { of {file} with your values, and restart the server:", "settings.replace": "Replace the option in {file}, and restart the server:", "settings.yours": "your configuration file", "settings.more": "docs/configuration.md describes the option.",
  "settings.isFlag": "It is set by {from} now, which overrides the file. Change it there.",
  "settings.now": "Changes apply at once, on all servers.", "settings.saved": "{name} changed", "settings.back": "Back to the configuration file",
  "settings.limits": "Limits (JSON)", "settings.insert": "Insert an example", "settings.noLimits": "Enter a list of limits, or [] for no limits.",
  "settings.language": "Language", "settings.others": "All other languages", "settings.subject": "Subject", "settings.html": "HTML (optional)", "settings.preview": "Preview",
});

export function open(scope) {
  const body = h(".scroll", { tabIndex: 0 }, loading());
  const find = textField({ placeholder: t("settings.find"), "aria-label": t("settings.find") });
  const isChanged = h("input", { type: "checkbox" });
  let settings = [];
  let file;
  const draw = () => put(body, list(settings, joined(find.value), isChanged.checked, read, file));
  find.addEventListener("input", debounce(100, draw));
  isChanged.addEventListener("change", draw);
  const copyAll = button(".button", () => {
    const given = settings.filter(({ source, value, languages }) => !["default", "preset"].includes(source) && value !== undefined && !languages);
    copy(JSON.stringify(Object.fromEntries(given.map(({ name, value }) => [name, value])), null, 2));
  }, icon("copy"), h("span.words", t("settings.copy")));
  copyAll.setAttribute("aria-label", t("settings.copy"));
  setTitle(t("rail.settings"));
  const read = () => reading(body, scope, async () => {
    ({ settings, file } = (await send("GET", "settings", { signal: scope })).body);
    draw();
  });
  read();
  return h(".page", h("header.head", h("h1", t("rail.settings")), h("span.quiet.words", t("settings.hint")), h(".space"),
    session.peek().operator.role === "owner" && button(".button", async () => (await import("../operators.js")).openOperators(), icon("users"), h("span.words", t("rail.operators"))),
    copyAll),
    h(".filters", h(".narrow", find), h("label.line", isChanged, t("settings.changed")),
      session.peek().features.push && button(".button", checkPush, icon("push"), t("settings.push"))), body);
}

function list(settings, wanted, isChanged, again, file) {
  const chosen = settings.filter(({ name, meaning, source }) => (!isChanged || !["default", "preset"].includes(source))
    && joined(name + meaning).includes(wanted));
  if (chosen.length === 0) return h("p.quiet", t("settings.none"));
  const groups = Map.groupBy(chosen, ({ group }) => group);
  return [...groups].map(([group, options]) => h(".panel", h("h2", plain(group, 60)), h("table.list",
    h("thead", h("tr", [t("settings.option"), t("word.value"), t("settings.source")].map((words) => h("th", { scope: "col" }, words)))),
    h("tbody", options.map((setting) => row(setting, again, file))))));
}

function row(setting, again, file) {
  const { name, value, isSecret, source, from, meaning, default: usual, isBuilt, isChangeable } = setting;
  const isSet = !["default", "preset"].includes(source);
  return h("tr", h("th.option", { scope: "row" }, isBuilt && !isChangeable ? h("button.link", { "aria-label": t("settings.change", { name }), onclick: () => explain(setting, file) }, h("code", shown(name, 60))) : h("code", shown(name, 60)), h(".quiet", linked(plain(meaning, 300)))),
    h("td", setting.languages ? h("span.quiet", shown(setting.subject, 200)) : isSecret ? h("span.apart", t("settings.secret")) : value === undefined ? usual === undefined ? drawnApart("\u2013") : h("span.quiet", shown(usual, 200)) : h("code", shown(typeof value === "string" ? value : JSON.stringify(value), 600)),
      !isBuilt && isSet && h(".quiet", t("settings.noEffect")), isChangeable && h("div", h("button.link", { "aria-label": titleOf(name), onclick: () => openChange(setting, again) }, t("word.change")))),
    h("td", isSet ? h("b", t("settings." + source, { from: (from ?? []).map((text) => plain(text, 80)).join(", ") })) : h("span.quiet", t("settings." + source)),
      setting.at && h(".quiet", ago(setting.at)), isSet && usual !== undefined && h(".quiet", t("settings.else", { value: usual }))));
}

/** Checks that the push keys can sign and that the services respond, and shows the findings. */
async function checkPush() {
  const body = h("div", { role: "status" }, loading(3));
  openDialog({ title: t("settings.push") }, () => ({ body }));
  try {
    const { findings } = (await send("POST", "push/check", { body: {} })).body;
    put(body, findings.map(({ type, entry, step, problem }) => h(".line.member", icon(problem ? "warn" : "check"), h(".grow", h("b", plain(`${type} ${entry}`)), h(".quiet", plain(step))),
      h("span", { class: problem ? "warn" : "good" }, problem ? plain(problem, 300) : t("settings.works")))));
  } catch (problem) {
    put(body, failed(problem));
  }
}

/** Shows the lines that set an option, to paste into the configuration file. */
function linesOf({ lines, source }, file) {
  // Without the braces of the whole file.
  const text = JSON.stringify(lines, null, 2).slice(2, -2).replace(/^ {2}/gm, "") + ",";
  return pasted(t(source === "file" ? "settings.replace" : "settings.lines", { file: file ?? t("settings.yours") }), text);
}

/** Creates lines to copy into a file, below words that say where. */
export const pasted = (words, text) => [h("p", words), h("pre.mono.code", text), h(".line", copyButton(text))];

/** Creates an element for the lines of an option that isn't set, which it shows to those who may read the settings. */
export function linesLater(name) {
  const host = h(".form");
  if (mayChangeClasses()) send("GET", "settings").then(({ body }) => put(host, linesOf(body.settings.find((one) => one.name === name), body.file)), () => {});
  return host;
}

function explain(setting, file) {
  const { name, source, from } = setting;
  openDialog({ title: t("settings.change", { name }) }, () => ({ body: [
    ["flag", "environment"].includes(source) && h("p.warn", t("settings.isFlag", { from: (from ?? []).join(", ") })),
    linesOf(setting, file),
    h("p.quiet", linked(t("settings.more")))] }));
}

const joined = (text) => text.toLowerCase().replace(/\s/g, "");
const titleOf = (name) => `${t("word.change")} ${name}`;

async function openChange(setting, again) {
  const { name, file, at } = setting;
  const path = `settings/${name}`;
  const { body, read, extra } = setting.languages ? mail(setting, path) : limits(setting);
  const done = await openForm({ title: titleOf(name), kind: "sheet", button: t("save") }, (close) => ({
    body: [h("p.quiet", t("settings.now")), body,
      at && h("details", h("summary", t("settings.file")), h("pre.mono.code", JSON.stringify(file ?? [], null, 2)))],
    async save() {
      await send("PUT", path, { body: { value: read() } });
      return true;
    },
    extra: [extra, at && button(".button", () => send("DELETE", path).then(() => close(true), complain), t("settings.back"))],
  }));
  if (!done) return;
  record(t("settings.saved", { name }));
  again();
}

function limits({ value, example, meaning }) {
  const text = h("textarea", { rows: 14, autofocus: true, spellcheck: "false", value: value && JSON.stringify(value, null, 2), placeholder: JSON.stringify(example, null, 2) });
  const read = () => {
    if (!text.value.trim()) throw new Error(t("settings.noLimits"));
    return JSON.parse(text.value);
  };
  return { body: [labelled(t("settings.limits"), text), h("p.quiet", plain(meaning, 300)), h("p.quiet", linked(t("settings.more")))], read,
    extra: !text.value && button(".button", () => { text.value = text.placeholder; }, t("settings.insert")) };
}

function mail({ value, languages }, path) {
  const texts = structuredClone(value);
  const names = new Intl.DisplayNames("en", { type: "language" });
  const language = h("select", { onchange: () => draw() }, option("default", t("settings.others")), languages.map((code) => option(code, names.of(code))));
  const fields = { subject: textField({ autofocus: true }), text: h("textarea", { rows: 10 }), html: h("textarea", { rows: 5, spellcheck: "false" }) };
  const sample = h("div", { role: "status" });
  const draw = () => {
    for (const [part, field] of Object.entries(fields)) {
      field.value = texts[part]?.[language.value] ?? "";
      field.placeholder = texts[part]?.default ?? "";
      field.oninput = () => { (texts[part] ??= {})[language.value] = field.value; };
    }
  };
  // Without a text of its own, a language has that of all others.
  const filled = (all) => Object.fromEntries(Object.entries(all).filter(([, text]) => text));
  const read = () => Object.fromEntries(Object.entries(texts).map(([part, all]) => [part, filled(all)]).filter(([, all]) => Object.keys(all).length));
  const show = async () => {
    const { body } = await send("POST", path + "/preview", { body: { value: read(), language: language.value } });
    put(sample, h("b", plain(body.subject, 500)), h("pre.mono.code", body.text));
    sample.scrollIntoView();
  };
  draw();
  return { body: [labelled(t("settings.language"), language), labelled(t("settings.subject"), fields.subject), labelled(t("word.text"), fields.text), labelled(t("settings.html"), fields.html), sample],
    read, extra: button(".button", () => show().catch(complain), t("settings.preview")) };
}
