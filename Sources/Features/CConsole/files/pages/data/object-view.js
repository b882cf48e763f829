/** One object: fields, permissions, references, JSON and history; or only its fields next to the grid. */

import { objectPath, parse, poll, send, SHORTEN } from "../../core/api.js";
import { button, h, icon, iconButton, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { address, leave } from "../../core/router.js";
import { mayWrite } from "../../core/session.js";
import { effect, latest, signal } from "../../core/signal.js";
import { addWords, ago, count, date, plain, shown, t } from "../../core/words.js";
import { deleteRows } from "../../data/batches.js";
import { drawPointer, sentence, summary } from "../../data/cells.js";
import { fieldList } from "../../data/editing.js";
import { tree } from "../../data/editors/tree.js";
import { changedOf, Row, showObjects } from "../../data/rows.js";
import { nameOfRow } from "../../data/save.js";
import { classes, learn, nameOf, namesChanged, ranked, typeOf } from "../../data/schema.js";
import { inWords } from "../../data/values.js";
import { copyButton, empty, failed, loading, offer } from "../../parts/states.js";

addWords({
  "object.access": "ACL", "object.pointedAt": "Pointed at by", "object.nothing": "Nothing", "object.copyId": "Copy the id",
  "object.gone": "No object has this id", "object.goneText": "{class} has no object {id}. Check the id, or look in the trash.", "object.toTrash": "Open the trash",
  "object.keys": "This object", "object.back": "Back to {class}",
});

/** Shows an object in an element until `outer` ends. */
export async function openObject(host, className, objectId, outer, next = latest(outer)) {
  const scope = next();
  const again = () => openObject(host, className, objectId, outer, next);
  let object;
  try {
    object = (await parse.get(objectPath(className, objectId), {}, { signal: scope, headers: SHORTEN })).body;
  } catch (problem) {
    if (scope.aborted) return;
    put(host, problem.status === 404 ? gone(className, objectId) : failed(problem, again));
    return;
  }
  if (scope.aborted) return;
  learn(className, object);
  const row = new Row(object);
  const fields = ranked(classes.peek().get(className));
  const remove = async () => { if (await deleteRows({ className, reload() {} }, [row])) leave(address("data", [className])); };
  const changed = signal(0);
  const notify = () => changed.set(changed.peek() + 1);
  showObjects({ className, find: (id) => (id === objectId ? row : undefined), notify, remove: (id) => id === objectId && again(), reload() {} }, scope);
  const list = fieldList({ className, row, fields, rows: { changed, notify }, scope });
  const panel = (words, content) => h("section.panel", h("h2", words), content);
  const json = h("details.panel", { ontoggle: (event) => event.target.open && drawJSON(event.target.querySelector("div"), className, objectId) },
    h("summary", t("word.json")), h("div"));
  const history = h("details.panel", { ontoggle: (event) => event.target.open && historyOf(event.target.querySelector("div"), className, objectId) },
    h("summary", t("word.history")), h("div"));
  const access = h("div");
  const pointsTo = h("div");
  effect(() => {
    changed();
    namesChanged();
    drawAccess(access, row, fields[0].isLimited);
    drawPointers(pointsTo, row);
  }, scope);
  const question = h("div");
  import("../access/index.js").then(({ mayPanel }) => put(question, mayPanel(className, () => objectId, scope)));
  const newer = h("span.newer");
  poll(async () => offer(newer, (await changedOf(objectPath(className), [row], scope)).length > 0 && t(row.isGone ? "grid.goneRows" : "grid.changedRows", { n: 1 }), again), scope);
  put(host, header(className, objectId, row, remove, scope, newer), h(".object",
    h(".object-main", h("section.panel", h("h2", t("word.fields")), list), json, history),
    h(".object-side", panel(t("object.access"), [access, question]), panel(t("word.pointsTo"), pointsTo), panel(t("object.pointedAt"), pointedAt(className, objectId, scope)))));
  addKeys(t("object.keys"), {
    Escape: { words: t("object.back", { class: className }), do: () => leave(address("data", [className])) },
    "Alt+r": { words: t("grid.refresh"), do: again },
  }, scope);
  // If Tab was pressed while the object was loading, the focus stays.
  if (document.activeElement.matches("body, main")) host.querySelector(".fields button")?.focus({ preventScroll: true });
}

const gone = (className, objectId) => empty({
  picture: "search", title: t("object.gone"), text: t("object.goneText", { class: className, id: objectId }),
  actions: [h("a.button", { href: address("trash", [className]) }, t("object.toTrash")), h("a.button", { href: address("data", [className]) }, t("object.back", { class: className }))],
});

function header(className, objectId, row, remove, scope, newer) {
  const [title, id] = [h("h1"), h("code.quiet.crumb", plain(objectId, 40))];
  effect(() => {
    namesChanged();
    const name = nameOf(className, objectId);
    put(title, shown(name || objectId, 80));
    id.hidden = !name;
  }, scope);
  return h("header.head", h("a.plain.back", { href: address("data", [className]), "aria-label": t("object.back", { class: className }) }, icon("back")),
    h("a.crumb", { href: address("data", [className]) }, shown(className, 40)), h("span.quiet.crumb", "/"), title, id,
    h("button.plain", { "aria-label": t("object.copyId"), title: t("object.copyId"), onclick: () => navigator.clipboard?.writeText(objectId) }, icon("copy")), newer,
    h(".space"), mayWrite() && button(".plain.bad", remove, icon("trash"), h("span.words", t("delete"))));
}

function drawAccess(host, row, isLimited) {
  const acl = row.values.get("ACL");
  const { text, isOpen } = summary(acl, isLimited);
  const sentences = Object.entries(acl ?? {}).map(([key, rights]) => sentence(key, rights)).filter(Boolean);
  put(host, (sentences.length > 0 ? sentences : [text]).map((one) => h("p", { class: isOpen ? "warn" : "" }, one)));
}

function drawPointers(host, row) {
  const pointers = [...row.values].filter(([, value]) => typeOf(value) === "Pointer");
  put(host, pointers.length === 0 ? h("p.quiet", t("object.nothing")) : pointers.map(([name, value]) => h("a.ref", {
    href: address("data", [value.className, value.objectId]),
  }, h("span.quiet", h("bdi", plain(name, 40))), drawPointer(value))));
}

function pointedAt(className, objectId, scope) {
  const host = h("div", loading(2));
  (async () => {
    try {
      const { body } = await send("GET", "references", { query: { className, objectId }, signal: scope });
      const found = body.from.filter((entry) => entry.count > 0);
      const where = (field) => JSON.stringify({ [field]: { __type: "Pointer", className, objectId } });
      put(host, found.length === 0 ? h("p.quiet", t("object.nothing")) : found.map((entry) => h("a.ref", { href: address("data", [entry.className], { where: where(entry.field) }) },
        h("span", h("bdi", plain(entry.className, 40)), h("span.quiet", ` \u00b7 ${plain(entry.field, 40)}`)), h("strong", (entry.isEstimate ? "\u2248" : "") + count(entry.count)))));
    } catch (problem) {
      if (!scope.aborted) put(host, h("p.problem", problem.message));
    }
  })();
  return host;
}

async function drawJSON(host, className, objectId) {
  put(host, loading(3));
  try {
    const { body } = await parse.get(objectPath(className, objectId));
    if (className.startsWith("_")) delete body.sessionToken;
    put(host, h(".line", copyButton(JSON.stringify(body, null, 2))), tree(body).element);
  } catch (problem) {
    put(host, failed(problem));
  }
}

addWords({
  "history.none": "No changes through the console yet.", "history.did.PUT": "{who} changed", "history.did.POST": "{who} saved",
  "history.did.DELETE": "{who} deleted", "history.was": "{field} was {before}", "history.change": "{field}: {before} → {after}",
});

/** Fills an element with the audit entries about an object. */
async function historyOf(host, className, objectId) {
  put(host, loading(3));
  let rows;
  try {
    rows = (await send("GET", "audit", { query: { className, objectId } })).body.rows;
  } catch (problem) {
    put(host, failed(problem));
    return;
  }
  const own = rows.filter((row) => (row.ids ?? []).includes(objectId) && (row.status ?? 200) < 400);
  put(host, own.length === 0 ? h("p.quiet", t("history.none")) : h("ol.history", own.map((row) => h("li",
    h("span", t("history.did." + row.method, { who: row.operator ?? "" })), " ", h("time.quiet", { title: date(row.at, true) }, ago(row.at)),
    changes(row, objectId).map((text) => h("div.mono.wrap", text))))));
}

function changes({ ids, before, after, fields }, objectId) {
  // An entry about several objects has the fields of each.
  const own = (values) => (values?.__type === "Shortened" ? { keys: () => [], get: () => ({ ...values, start: "\u2026" }) } : new Map(Object.entries((ids.length > 1 ? new Map(Object.entries(values ?? {})).get(objectId) : values) ?? {})));
  const [old, now] = [own(before), own(after)];
  return (fields ?? [...now.keys()]).filter((field) => field !== "updatedAt").slice(0, 12)
    .map((field) => t(after ? "history.change" : "history.was", { field, before: inWords(old.get(field)), after: inWords(now.get(field)) }));
}

/** Opens or closes the inspector of a page. */
export function toggle(page) {
  if (page.inspector) {
    page.inspector.end();
    page.inspector = undefined;
    page.grid.focus({ preventScroll: true });
    return;
  }
  const element = h("aside.inspector", { "aria-label": t("word.inspector") });
  const next = latest(page.scope);
  let shownRow;
  const draw = () => {
    const row = page.grid.activeRow;
    if (!row || (row === shownRow && element.childElementCount)) return;
    shownRow = row;
    put(element, h("header.head", h("h2.grow", shown(nameOfRow(page.className, row), 60)),
      h("a.button", { href: address("data", [page.className, row.id]) }, t("word.open")),
      iconButton("close", t("close"), () => toggle(page))),
    fieldList({ className: page.className, row, rows: page.rows, fields: ranked(page.description), scope: next() }));
  };
  page.inspectorElement = element;
  page.body.append(element);
  const moved = page.moved;
  page.moved = () => { moved(); draw(); };
  draw();
  page.inspector = { end: () => { next(); element.remove(); page.inspectorElement = undefined; page.moved = moved; } };
}
