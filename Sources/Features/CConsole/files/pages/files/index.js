/** Uploaded files: a paged list, a safe preview, and deletion. */

import { poll, POLL, send } from "../../core/api.js";
import { button, h, icon, option, put } from "../../core/dom.js";
import { address, go, route } from "../../core/router.js";
import { mayWrite, session, setTitle } from "../../core/session.js";
import { effect, latest } from "../../core/signal.js";
import { addWords, bytes, date, plain, shown, t } from "../../core/words.js";
import { fileName } from "../../data/cells.js";
import { show, store, takeDrops, thumbnail } from "../../data/editors/file.js";
import { confirm, openDialog } from "../../parts/dialog.js";
import { complain, copyButton, empty, failed, loading, offer, record, table } from "../../parts/states.js";

addWords({
  "files.number": "{n} {n|file|files}, {size}", "files.part": "more than {n} {n|file|files}; the list is not complete", "files.find": "Find by name", "files.sort": "Order", "files.modified": "Newest first",
  "files.size": "Largest first", "files.name": "By name", "files.titleSize": "Size", "files.titleModified": "Stored", "files.empty": "No files yet",
  "files.emptyHint": "Files that your app uploads appear here. They can also be uploaded here.", "files.none": "No file has this name", "files.upload": "Upload", "files.uploaded": "{name} uploaded",
  "files.deleteTitle": "Delete {name}?", "files.deleteText": "The trash does not keep files. You can't undo this. Objects that refer to the file keep a broken link.",
});

const SORTS = ["modified", "size", "name"];

export function open(scope) {
  const list = h(".scroll");
  const number = h("span.quiet.count", { "aria-live": "polite" });
  const query = () => route.peek().query;
  const change = (next) => go(address("files", [], { text: query().get("text"), sort: query().get("sort"), ...next }), true);
  const text = h("input", { type: "search", placeholder: t("files.find"), "aria-label": t("files.find"), value: query().get("text") ?? "", onchange: () => change({ text: text.value.trim() }) });
  const sort = h("select", { "aria-label": t("files.sort"), onchange: () => change({ sort: sort.value }) }, SORTS.map((name) => option(name, t("files." + name), name === (query().get("sort") ?? "modified"))));
  const input = h("input.sr", { type: "file", tabIndex: -1, "aria-label": t("files.upload"), onchange: () => input.files[0] && upload(input.files[0]) });
  const next = latest(scope);
  const newer = h("span.newer");
  const asked = () => ({ text: query().get("text") ?? "", sort: SORTS.includes(query().get("sort")) ? query().get("sort") : "modified" });
  const again = () => fill(list, number, asked(), next(), again);
  poll(async () => {
    const known = number.textContent;
    const { body } = await send("GET", "files", { query: asked(), signal: scope, headers: POLL });
    if (known && known === number.textContent) offer(newer, figures(body) !== known && t("grid.refresh"), again);
  }, scope);
  const upload = async (file) => {
    try {
      await store(file);
      record(t("files.uploaded", { name: file.name }));
      again();
    } catch (problem) {
      complain(problem);
    }
    input.value = "";
  };
  const element = h("section.content.files", h("header.head", h("h1", t("rail.files")), number, newer, h(".space"), mayWrite() && [input, button(".button.primary", () => input.click(), icon("up"), h("span.words", t("files.upload")))]),
  h(".filters", text, sort), list);
  takeDrops(element, (file) => mayWrite() && upload(file), scope);
  setTitle(t("rail.files"));
  let key;
  effect(() => {
    const { page, query: now } = route();
    if (page !== "files" || key === now.toString()) return;
    key = now.toString();
    again();
  }, scope);
  return element;
}

const figures = ({ total, isComplete, bytes: size }) => (isComplete ? t("files.number", { n: total, size: bytes(size) }) : t("files.part", { n: total }));

async function fill(list, number, { text, sort }, scope, again) {
  put(list, loading());
  try {
    const read = async (after) => (await send("GET", "files", { query: { text, sort, after }, signal: scope })).body;
    const first = await read();
    put(number, figures(first));
    if (first.files.length === 0) {
      put(list, text ? empty({ picture: "search", title: t("files.none"), text: t("word.shorter") }) : empty({ picture: "file", title: t("files.empty"), text: t("files.emptyHint") }));
      return;
    }
    const more = h(".pad");
    let files;
    const add = (page) => {
      const rows = table(t("rail.files"), [[t("word.name")], [t("word.type"), ".wide"], [t("files.titleSize"), ".right"], [t("files.titleModified")]], page.files.map((file) => row(file, scope, again)));
      if (files) files.tBodies[0].append(...rows.tBodies[0].rows);
      files ??= rows;
      put(more, page.next && button(".button", async (event) => {
        event.currentTarget.disabled = true;
        try {
          add(await read(page.next));
        } catch (problem) {
          complain(problem);
          event.target.disabled = false;
        }
      }, t("word.showMore")));
    };
    add(first);
    put(list, files, more);
  } catch (problem) {
    if (!scope.aborted) put(list, failed(problem, again));
  }
}

const row = (file, scope, again) => [
  button(".link.line", () => openFile(file, again), thumbnail({ ...file, url: ownURL(file) }, scope), shown(fileName(file.name), 80)),
  h("span.quiet", plain(file.type ?? "", 60)), bytes(file.size), h("time", { title: plain(file.modified) }, date(file.modified))];

/** Returns the URL of a file on this server, whatever its public URL is. */
function ownURL({ name }) {
  const { mount, appId } = session.peek().server;
  return `${location.origin}${(mount ?? "/parse").replace(/\/$/, "")}/files/${encodeURIComponent(appId)}/${encodeURIComponent(name)}`;
}

function openFile(file, again) {
  const preview = h(".preview");
  return openDialog({ title: plain(fileName(file.name), 80), kind: "sheet" }, (close) => {
    queueMicrotask(() => show(preview, { name: file.name, url: ownURL(file) }));
    const remove = async () => {
      if (!(await askToDelete(file))) return;
      close();
      again();
    };
    return {
      body: [preview, h("code.quiet.wrap", shown(file.name, 200)), h("p.quiet", date(file.modified, true))],
      foot: [copyButton(file.url, t("word.copy")),
        mayWrite() && button(".button", remove, icon("trash"), t("word.delete")), button(".button.primary", () => close(), t("close"))],
    };
  });
}

async function askToDelete(file) {
  const name = fileName(file.name);
  try {
    if (!(await confirm({ title: t("files.deleteTitle", { name }), text: t("files.deleteText"), button: t("delete"), isDanger: true }))) return false;
    await send("DELETE", "parse/files/" + encodeURIComponent(file.name));
    record(t("word.deleted", { name }));
    return true;
  } catch (problem) {
    complain(problem);
    return false;
  }
}
