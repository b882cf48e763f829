/** Backups: those that there are, one that is made, one that is taken along. */

import { download, send } from "../../core/api.js";
import { button, h, icon, put } from "../../core/dom.js";
import { session } from "../../core/session.js";
import { addWords, ago, bytes, date, plain, shown, t } from "../../core/words.js";
import { keepFocus } from "../../parts/dialog.js";
import { complain, failed, loading, toast } from "../../parts/states.js";
import { follow } from "../../parts/task.js";

addWords({
  "backups.title": "Backups",
  "backups.dump": "The database is not Roost's own: its own tools back it up, as docs/operations.md says.",
  "backups.off": "With the option console.backupFolder, which names a folder, owners make them here. Without, at the server:",
  "backups.folder": "They lie in {folder}, and nothing removes them. Keep some on another machine.",
  "backups.none": "There is none yet.",
  "backups.owner": "An owner makes them and takes them along.",
  "backups.make": "Make a backup",
  "backups.making": "The backup is made; apps go on.",
  "backups.stopped": "Stopped. There is no backup.",
  "backups.made": "The backup {name} is made",
  "backups.take": "Download",
  "backups.takeOf": "Download {name}",
  "backups.restore": "Makes a data folder of one, on this machine or another:",
});

/** The panel, which fills itself. */
export function backupPanel(scope) {
  const host = h(".form", loading(2));
  read(host, scope);
  return h(".panel", h("h2", t("backups.title")), host);
}

async function read(host, scope) {
  try {
    const { body } = await send("GET", "backups", { signal: scope });
    if (!body.ownDatabase) return put(host, h("p.quiet", t("backups.dump")));
    const restore = [h("p.quiet", t("backups.restore")), h("code", "roost restore FILE")];
    if (!body.backups) return put(host, h("p.quiet", t("backups.off")), h("code", "roost backup FILE"), restore);
    const isOwner = session.peek().operator.role === "owner";
    const running = h("div");
    const run = async (begin) => {
      make?.setAttribute("aria-disabled", "true");
      const { element, finished } = follow(begin, t("backups.making"));
      put(running, element);
      try {
        const made = await finished;
        toast(made ? t("backups.made", { name: made.name }) : t("backups.stopped"));
      } catch (problem) {
        if (!scope.aborted) complain(problem);
      }
      if (!scope.aborted) await read(host, scope);
    };
    const make = isOwner ? button(".button", () => {
      if (make.getAttribute("aria-disabled") !== "true") run(async () => (await send("POST", "backups", { body: {} })).body);
    }, icon("plus"), t("backups.make")) : null;
    keepFocus(host, () => put(host, h("p.quiet", t("backups.folder", { folder: body.folder })),
      body.backups.length === 0 && h("p", t("backups.none")), body.backups.map((backup) => row(backup, isOwner)),
      running, isOwner ? h("p", make) : h("p.quiet", t("backups.owner")), restore));
    if (body.task) await run(async () => body.task);
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, () => read(host, scope)));
  }
}

function row({ name, bytes: size, at }, isOwner) {
  const take = isOwner ? button(".button", async () => {
    try {
      download((await send("POST", "backups/" + encodeURIComponent(name), { body: {} })).body.url, name);
    } catch (problem) {
      complain(problem);
    }
  }, t("backups.take")) : null;
  take?.setAttribute("aria-label", t("backups.takeOf", { name: plain(name, 80) }));
  return h(".line.member.wrap", h(".grow", h("b", shown(name, 100)), h(".quiet", { title: date(at, true) }, bytes(size), " \u00b7 ", ago(at))), take);
}
