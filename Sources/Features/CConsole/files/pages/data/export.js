/** Exports rows as a file, which the server streams to a URL that works once. */

import { download, send } from "../../core/api.js";
import { button, h, labelled, option, problemLine, put } from "../../core/dom.js";
import { addWords, plain, t } from "../../core/words.js";
import { ranked } from "../../data/schema.js";
import { openDialog } from "../../parts/dialog.js";

addWords({
  "export.title": "Export {class}", "export.filtered": "those that match the filter", "export.shownFields": "those that are shown", "export.form": "Format",
  "export.csv": "CSV, for spreadsheets", "export.ndjson": "JSON, one object per line", "export.exact": "Exact values",
  "export.exactHint": "Otherwise texts that look like formulas get an apostrophe. JSON is always exact.", "export.go": "Export", "export.of": "{done} of {total} sent",
  "export.waiting": "Waiting for the browser to take the file…", "export.done": "{n} {n|object|objects} exported.",
  "export.stopped": "Stopped: the file is not complete.",
});

/** Opens the dialog for a page of a class. */
export function openExport(page) {
  const { className, where, order, columns, description, grid } = page;
  const selected = [...(grid?.selected?.keys() ?? [])];
  const isFiltered = Object.keys(where).length > 0;
  let stop;
  return openDialog({ title: t("export.title", { class: className }), mayClose: () => !stop || (stop(), false) }, (close) => {
    const rows = h("select", { autofocus: true }, selected.length > 0 && option("selected", t("word.selected", { n: selected.length }), true), isFiltered && option("filtered", t("export.filtered")), option("all", t("word.all")));
    const fields = h("select", option("shown", t("export.shownFields")), option("all", t("word.all")));
    const exact = h("input", { type: "checkbox" });
    const exactRow = h("div", h("label.line", exact, t("export.exact")), h("p.quiet", t("export.exactHint")));
    const form = h("select", { onchange: () => { exactRow.hidden = form.value !== "csv"; } }, option("csv", t("export.csv")), option("json", t("word.json")), option("ndjson", t("export.ndjson")));
    const problem = problemLine();
    const host = h(".form", labelled(t("word.rows"), rows), labelled(t("word.fields"), fields), labelled(t("export.form"), form), exactRow, problem);
    const foot = h(".line.wrap.grow");
    const begin = async () => {
      put(problem);
      const all = fields.value === "all" ? ranked(description) : columns;
      const keys = all.filter(({ type }) => type !== "Password" && (form.value !== "csv" || type !== "Relation")).map(({ name }) => name);
      const wanted = rows.value === "selected" ? { objectId: { $in: selected } } : rows.value === "filtered" ? where : {};
      const body = { className, where: wanted, order, keys, format: form.value, safe: !exact.checked };
      go.disabled = true;
      try {
        const { body: item } = await send("POST", "exports", { body });
        stop = () => send("DELETE", "exports/" + encodeURIComponent(item.id)).catch(() => {});
        download(item.url, `${className}.${form.value}`);
        await follow(item, host, foot, () => stop());
      } catch (refusal) {
        put(problem, plain(refusal.message, 300));
        if (!stop) {
          go.disabled = false;
          return;
        }
        put(host, problem);
      } finally {
        stop = undefined;
      }
      put(foot, button(".button.primary", () => close(), t("close")));
      foot.firstChild.focus();
    };
    const go = button(".button.primary", begin, t("export.go"));
    put(foot, button(".button", () => close(), t("cancel")), go);
    return { body: [host], foot: [foot] };
  });
}

/** Shows the progress until the export ends. */
async function follow(first, host, foot, stop) {
  const bar = h("progress", { max: String(Math.max(1, first.total)), value: 0, "aria-label": t("export.go") });
  const words = h("p", { role: "status" }, t("export.waiting"));
  put(host, bar, words);
  put(foot, button(".button", stop, t("word.stop")));
  foot.firstChild.focus();
  let item = first;
  while (item.state === "waiting" || item.state === "running") {
    item = (await send("GET", "exports/" + encodeURIComponent(first.id), { query: { wait: 5 } })).body;
    bar.value = item.done;
    if (item.state === "running") put(words, t("export.of", { done: item.done, total: item.total }));
  }
  put(words, item.state === "done" ? t("export.done", { n: item.done }) : item.state === "cancelled" ? t("export.stopped") : plain(item.message || t("export.stopped"), 300));
}
