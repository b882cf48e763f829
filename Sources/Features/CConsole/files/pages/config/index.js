/** The client configuration: parameters with type, value and visibility. */

import { parse, send } from "../../core/api.js";
import { button, h, icon, iconButton, labelled, option, put, textField } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { mayChangeClasses, setTitle } from "../../core/session.js";
import { addWords, ago, date, plain, shown, t } from "../../core/words.js";
import { drawValue } from "../../data/cells.js";
import { valueInput } from "../../data/editors/inline.js";
import { classes, loadClasses, typeOf } from "../../data/schema.js";
import { inWords, isEqual, setOwn } from "../../data/values.js";
import { confirm, keepFocus, openDialog, openForm, openMenu } from "../../parts/dialog.js";
import { complain, empty, failed, loading, record, table, whileRecording } from "../../parts/states.js";

addWords({
  "config.hint": "Values that apps can read without an update of the app.", "config.kept": "{type}, kept as it is", "config.sees": "Who sees it",
  "config.masterBox": "Hidden from apps: only for servers and cloud code with the master key",
  "config.new": "New parameter", "config.empty": "No parameters yet",
  "config.emptyHint": "Apps read these values, such as a limit or a switch.",
  "config.actions": "Actions of {name}", "config.title": "Parameter {name}",
  "config.hintName": "Letters, digits and _, beginning with a letter: welcomeText",
  "config.taken": "The parameter {name} already exists.",
  "config.missing": "Enter a value. To remove the parameter, delete it.",
  "config.done": "{name} is {value}", "config.undone": "{name} restored",
  "config.changedSince": "{name} was changed meanwhile. Nothing was stored.",
  "config.deleteText": "Apps no longer get {name}.",
  "config.opens": "Everyone who has the app sees {name} from now on.",
  "config.noHistory": "{name} was not changed in the console recently.",
  "config.by": "{who}, {when}", "config.deletedThen": "deleted", "config.back": "Set again", "config.keys": "Configuration",
});

const TYPES = ["String", "Number", "Boolean", "Date", "Array", "Object", "GeoPoint", "Pointer"];

let parameters = new Map();

export function open(scope) {
  const body = h(".scroll", loading());
  const again = () => read(body, again, scope);
  const add = mayChangeClasses() && button(".button.primary", () => edit(undefined, again), icon("plus"), h("span.words", t("config.new")));
  if (!classes.peek()) loadClasses();
  setTitle(t("rail.config"));
  addKeys(t("config.keys"), mayChangeClasses() ? { "Alt+n": { words: t("config.new"), do: () => edit(undefined, again) } } : {}, scope);
  again();
  return h(".page", h("header.head", h("h1", t("rail.config")), h("span.quiet.words", t("config.hint")), h(".space"), add), body);
}

async function load(scope) {
  const { body } = await parse.get("config", {}, { signal: scope });
  const flags = new Map(Object.entries(body.masterKeyOnly ?? {}));
  parameters = new Map(Object.entries(body.params).sort(([left], [right]) => left.localeCompare(right, "en"))
    .map(([name, value]) => [name, { value, isForMaster: flags.get(name) === true }]));
}

async function read(host, again, scope) {
  try {
    await load(scope);
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, again));
    return;
  }
  if (parameters.size === 0) {
    put(host, empty({ picture: "config", title: t("config.empty"), text: t("config.emptyHint"), actions: [mayChangeClasses() && button(".button.primary", () => edit(undefined, again), icon("plus"), t("config.new"))].filter(Boolean) }));
    return;
  }
  keepFocus(host, () => put(host, table(t("rail.config"),
    [[t("word.name")], [t("word.type"), ".wide.quiet"], [t("word.value")], [t("config.sees")], ["", ".actions"]],
    [...parameters].map(([name, { value, isForMaster }]) => [shown(name, 60), typeOf(value) ?? "", drawValue(value, { name, type: typeOf(value) }),
      h("span", { class: isForMaster ? "quiet" : "" }, t(isForMaster ? "cell.aclMaster" : "cell.everybody")),
      mayChangeClasses() && iconButton("more", t("config.actions", { name }), (event) => openMenu(event.currentTarget, [
        { words: t("word.change"), icon: "config", do: () => edit(name, again) },
        { words: t("word.history"), icon: "undo", do: () => history(name, again) },
        { words: t("delete"), icon: "trash", isDanger: true, do: () => remove(name, again) },
      ], { label: t("config.actions", { name }) }))]))));
}

/** Stores a parameter and offers to undo that. The undo shortcut waits for it. */
const store = (...all) => whileRecording(change(...all));

async function change(name, entry, words, again) {
  const before = parameters.get(name);
  // Parameters stored by others since the page was loaded are kept.
  const replace = async (old, next) => {
    await load();
    if (!isEqual(parameters.get(name), old)) {
      again();
      throw new Error(t("config.changedSince", { name }));
    }
    // A parameter without `isForMaster` becomes public.
    await parse.put("config", { params: setOwn({}, name, next === undefined ? { __op: "Delete" } : next.value), masterKeyOnly: setOwn({}, name, next?.isForMaster ?? false) });
  };
  await replace(before, entry);
  await again();
  record(words, async () => {
    await replace(entry, before);
    await again();
    return t("config.undone", { name });
  });
}

async function edit(name, again) {
  const old = name === undefined ? undefined : parameters.get(name);
  const input = textField({ autofocus: name === undefined, maxlength: "100" });
  const oldType = typeOf(old?.value) ?? "null";
  // A type without an editor, such as a file or null, keeps its value unless another type is chosen.
  const kept = old && !TYPES.includes(oldType) && option("", t("config.kept", { type: oldType }), true);
  const type = h("select", { onchange: () => draw() }, kept, TYPES.map((other) => option(other, other, other === oldType)));
  const target = h("select", { onchange: () => draw() }, [...(classes.peek()?.keys() ?? [])].map((other) => option(other, plain(other, 60), other === old?.value?.className)));
  const targetRow = labelled(t("word.ofClass"), target);
  const isForMaster = h("input", { type: "checkbox", checked: old?.isForMaster ?? false, onchange: () => draw() });
  const host = h(".stack");
  const opens = h("p.notice", { role: "status" });
  let value;
  let drawn;
  const draw = () => {
    targetRow.hidden = type.value !== "Pointer";
    const kind = { name: name ?? t("word.value"), type: type.value, targetClass: target.value };
    // The typed value stays until another type is chosen.
    if (drawn !== `${kind.type} ${kind.targetClass}`) {
      drawn = `${kind.type} ${kind.targetClass}`;
      value = kind.type && valueInput(kind, oldType === kind.type ? old.value : undefined);
      put(host, value ? [h("label.label", { for: value.id }, t("word.value")), value.element] : h("div", drawValue(old.value)));
    }
    opens.hidden = !(old?.isForMaster && !isForMaster.checked);
    put(opens, t("config.opens", { name: name ?? "" }));
  };
  draw();
  await openForm({ title: name === undefined ? t("config.new") : t("config.title", { name }), button: t("save") }, () => ({
    body: [name === undefined && [labelled(t("word.name"), input), h("p.quiet", t("config.hintName"))], labelled(t("word.type"), type), targetRow, host, h("label.line", isForMaster, t("config.masterBox")), opens],
    async save() {
      const key = name ?? input.value.trim();
      if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(key)) throw new Error(t("config.hintName"));
      if (name === undefined && parameters.has(key)) throw new Error(t("config.taken", { name: key }));
      const read = !value ? old.value : type.value === "String" ? value.element.value : await value.read();
      if (read === undefined) throw new Error(t("config.missing"));
      const entry = { value: read, isForMaster: isForMaster.checked };
      if (old && isEqual(old, entry)) return true;
      await store(key, entry, t("config.done", { name: key, value: inWords(read) }), again);
      return true;
    },
  }));
}

async function remove(name, again) {
  const title = `${t("delete")} ${plain(name, 60)}`;
  if (!(await confirm({ title, text: t("config.deleteText", { name }), button: t("delete"), isDanger: true }))) return;
  await store(name, undefined, t("word.deleted", { name }), again).catch(complain);
}

function history(name, again) {
  openDialog({ title: t("config.title", { name }), kind: "sheet" }, (close) => {
    const host = h("div", loading(3));
    fill(host, name, async (entry) => {
      close();
      await store(name, entry, t("config.done", { name, value: inWords(entry.value) }), again).catch(complain);
    });
    return { body: host };
  });
}

/** Whether an audited value is incomplete, because the audit log stores no secrets. */
const holdsSecret = (value) => value === "changed" || (value !== null && typeof value === "object" && Object.values(value).some(holdsSecret));

async function fill(host, name, setAgain) {
  let found;
  try {
    const { body } = await send("GET", "audit", { query: { path: "config" } });
    found = body.rows.filter(({ after, status }) => status < 400 && Object.hasOwn(after?.params ?? {}, name));
  } catch (problem) {
    put(host, failed(problem));
    return;
  }
  put(host, found.length === 0 ? h("p.quiet", t("config.noHistory", { name })) : found.map((row, index) => {
    const value = row.after.params[name];
    const isGone = value?.__op === "Delete";
    const isKept = !isGone && !holdsSecret(value);
    return h(".line.member", h(".grow", h("div.mono.wrap", isGone ? t("config.deletedThen") : inWords(value)),
      h(".quiet", { title: date(row.at, true) }, t("config.by", { who: row.operator ?? "", when: ago(row.at) }))),
    mayChangeClasses() && isKept && index > 0 && button(".button", () => setAgain({ value, isForMaster: parameters.get(name)?.isForMaster ?? false }), t("config.back")));
  }));
}
