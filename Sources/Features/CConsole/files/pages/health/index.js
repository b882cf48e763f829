/** Health: whether the parts respond, the doctor's findings and fixes, the security check, emails and backups. */

import { download, isReachable, parse, pause, POLL, send } from "../../core/api.js";
import { button, h, icon, linked, put } from "../../core/dom.js";
import { addKeys } from "../../core/keys.js";
import { session, setTitle } from "../../core/session.js";
import { effect } from "../../core/signal.js";
import { addWords, ago, bytes, date, plain, shown, t } from "../../core/words.js";
import { confirm, keepFocus } from "../../parts/dialog.js";
import { complain, failed, loading, record, toast } from "../../parts/states.js";
import { follow } from "../../data/indexing.js";

addWords({
  "health.hint": "Roost {version}, works like version {preset} of parse-server, the original Parse server", "health.look": "Check again", "health.well": "All is well", "health.notes": "No problems. {n} {n|note|notes} below.",
  "health.amiss": "{n} {n|problem|problems} found", "health.looking": "Checking the database\u2026", "health.never": "Not checked since this process started.",
  "health.when": "Checked {when}. PostgreSQL {postgres}, {bytes}.", "health.note": "Note", "health.fix": "Fix", "health.fixOf": "Fix {subject}", "health.fixText": "This is safe: {words}.",
  "health.fixed": "{subject} is fixed", "health.owner": "An owner can fix this.", "health.consider": "Consider:", "health.examples": "For example {examples}", "health.security": "Security check",
  "health.securityOff": "It is off: the option security with \"enableCheck\": true turns it on.", "health.passed": "{n} of {all} checks passed", "health.mails": "Emails",
  "health.waiting": "{n} {n|email|emails} waiting to be sent, the oldest for {seconds} s.", "health.idle": "No emails are waiting.", "health.failed": "{n} failed since the start.", "health.parts": "What the server uses", "health.up": "answers", "health.disk": "{free} of {size} are free in {folder}.",
  "health.part.database": "Database", "health.part.databaseWrites": "Writes to the database", "health.part.fileStore": "File store", "health.log": "{n} {n|error|errors} in the log.",
  "health.down": "The database doesn't respond", "health.good": "All was well at {when}.",
});

/** The milliseconds after which a server that doesn't respond counts as down, and those after which the doctor's report is out of date. */
const [PATIENCE, FRESH] = [6000, 300_000];

/** The time of the last response in which all parts were up. */
let good;

export function open(scope) {
  const backups = h(".form", loading(2));
  readBackups(backups, scope);
  /** `limit` is the age in milliseconds above which a report is replaced, 0 after an outage. */
  const parts = { hint: h("span.quiet.words"), backups: h(".panel", h("h2", t("backups.title")), backups), limit: FRESH };
  const body = h(".scroll", { tabIndex: 0 }, loading());
  const look = parts.look = button(".button.primary", () => examine(body, parts, scope), icon("refresh"), h("span.words", t("health.look")));
  look.setAttribute("aria-label", t("health.look"));
  setTitle(t("rail.health"));
  addKeys(t("rail.health"), { "Alt+r": { words: t("health.look"), do: () => look.click() } }, scope);
  poll(body, parts, scope);
  return h(".page", h("header.head", h("h1", t("rail.health")), parts.hint, h(".space"), look), body);
}

async function poll(body, parts, scope) {
  effect(() => {
    if (isReachable()) return;
    parts.limit = 0;
    draw(body, parts, [outage(t("net.down"))]);
  }, scope);
  for (; !scope.aborted; await pause(scope)) {
    const health = await read(body, parts, scope);
    if (!health || parts.isChecking) continue;
    if (Date.now() - new Date(health.doctor?.at ?? 0) >= parts.limit) examine(body, parts, scope);
    parts.limit = Infinity;
  }
}

/** Reads and draws the page's state. Returns it, or false if the server or its database is down. */
async function read(body, parts, scope) {
  const signal = AbortSignal.any([scope, AbortSignal.timeout(PATIENCE)]);
  try {
    const { body: health } = await send("GET", "health", { signal, headers: POLL });
    const report = parts.report ??= health.securityCheck ? (await parse.get("security", {}, { signal })).body.report : null;
    if (scope.aborted) return false;
    put(parts.hint, t("health.hint", { version: health.version, preset: String(health.preset) }));
    const down = Object.entries(health.checks ?? {}).filter(([, { status }]) => status !== "up").map(([name]) => name);
    if (down.length === 0) good = new Date().toISOString();
    const isOut = down.includes("database");
    if (isOut) parts.limit = 0;
    draw(body, parts, [isOut ? outage(t("health.down")) : findings(health.doctor, down.length, parts, () => read(body, parts, scope), scope), partsPanel(health), securityPanel(report), mailPanel(health)]);
    return !isOut && health;
  } catch (problem) {
    parts.limit = 0;
    // A gateway sends 502 or 504 for a server that is down. The route itself fails only without the session's database.
    const { status } = problem;
    if (!scope.aborted) draw(body, parts, [status > 0 && status < 500 ? failed(problem) : outage(t([500, 503].includes(status) ? "health.down" : "net.down"))]);
    return false;
  }
}

/** Replaces the panels if their text has changed, because that ends a selection. */
function draw(body, parts, panels) {
  const text = panels.map((panel) => panel?.textContent).join();
  if (text === parts.text) return;
  parts.text = text;
  keepFocus(body, () => put(body, panels, parts.backups));
}

const outage = (words) => h(".panel", { role: "alert" }, h("h2.bad", icon("warn"), " ", words), good && h("p.quiet", t("health.good", { when: date(good, true) })));

async function finish(task, scope) {
  while (task.state === "running") {
    task = (await send("GET", "tasks/" + encodeURIComponent(task.id), { query: { wait: 10 }, signal: scope })).body;
  }
  if (task.state !== "done") throw new Error(plain(task.message, 500));
}

async function examine(body, parts, scope) {
  const { look } = parts;
  if (parts.isChecking) return;
  parts.isChecking = true;
  // The button keeps the focus, because it may be the only one on the page.
  look.setAttribute("aria-disabled", "true");
  const state = body.querySelector(".looking");
  if (state) put(state, t("health.looking"));
  try {
    await finish((await send("POST", "doctor", { body: {}, signal: scope })).body, scope);
  } catch (problem) {
    // A check that an outage ended is made again after it.
    if (!scope.aborted && parts.limit > 0) complain(problem);
  }
  parts.isChecking = false;
  parts.text = parts.report = undefined;
  await read(body, parts, scope);
  look.removeAttribute("aria-disabled");
}

function findings(doctor, down, parts, again, scope) {
  if (!doctor) return h(".panel", h("h2.looking", t(parts.isChecking ? "health.looking" : "health.never")));
  const amiss = doctor.findings.filter(({ severity }) => severity !== "note").length + down;
  const title = parts.isChecking ? t("health.looking") : amiss > 0 ? t("health.amiss", { n: amiss }) : t("health.well");
  const version = `${Math.floor(doctor.postgres / 10000)}.${doctor.postgres % 10000}`;
  return h(".panel", h("h2.looking", icon(amiss > 0 ? "warn" : "check"), " ", title),
    h("p.quiet", { title: date(doctor.at, true) }, t("health.when", { when: ago(doctor.at), postgres: version, bytes: bytes(doctor.bytes) })),
    amiss === 0 && doctor.findings.length > 0 && h("p.quiet", t("health.notes", { n: doctor.findings.length })),
    doctor.findings.map((finding) => row(finding, again, scope)));
}

function partsPanel({ checks, errors, disks }) {
  const known = ["database", "databaseWrites", "fileStore"];
  return checks && h(".panel", h("h2", t("health.parts")), Object.entries(checks).map(([name, { status, reason }]) => h(".line.member",
    h(status === "up" ? "span.flag.on" : "span.flag.bad", icon(status === "up" ? "check" : "warn")), h("b", known.includes(name) ? t("health.part." + name) : shown(name, 60)),
    h("span.grow.quiet", status === "up" ? t("health.up") : shown(reason ?? status, 300)))),
    disks.map(({ folder, free, size }) => h(free < size / 20 ? "p.warn" : "p", t("health.disk", { folder, free: bytes(free), size: bytes(size) }))), h("p", t("health.log", { n: errors })));
}

function row(finding, again, scope) {
  const { severity, subject, words, examples, fix, advice } = finding;
  const isOwner = session.peek().operator.role === "owner";
  const go = fix && isOwner && button(".button", () => putRight(finding, go, again, scope), t("health.fix"));
  go?.setAttribute("aria-label", t("health.fixOf", { subject }));
  return h(".line.member.wrap", h(".grow",
    h("div", severity === "error" ? h("span.tag.bad", t("word.error")) : severity === "warning" ? h("span.tag.warn", t("word.warning")) : h("span.tag", t("health.note")), " ", h("b", shown(subject, 100))),
    h("div", shown(words, 600)),
    examples && h(".quiet", t("health.examples", { examples: examples.slice(0, 5).map((text) => plain(text, 60)).join(", ") })),
    fix && !isOwner && h(".quiet", t("health.owner")),
    advice && h(".quiet", t("health.consider"), " ", h("code", shown(advice, 500)))), go);
}

async function putRight(finding, go, again, scope) {
  const { subject, fix } = finding;
  const text = [h("p", t("health.fixText", { words: plain(fix.words, 300) })), fix.statements.map((statement) => h("pre.mono.statement", shown(statement, 2000)))];
  if (!(await confirm({ title: t("health.fixOf", { subject }), text, button: t("health.fix") }))) return;
  go.disabled = true;
  try {
    await finish((await send("POST", "doctor/fix", { body: { id: finding.id } })).body, scope);
    record(t("health.fixed", { subject }));
    again();
  } catch (problem) {
    go.disabled = false;
    if (!scope.aborted) complain(problem);
  }
}

function securityPanel(report) {
  const checks = report?.groups.flatMap((group) => group.checks) ?? [];
  const passed = checks.filter(({ state }) => state === "success").length;
  return h(".panel", h("h2", t("health.security")), report === null ? h("p.quiet", t("health.securityOff")) : [
    h("p.quiet", t("health.passed", { n: passed, all: checks.length })),
    checks.filter(({ state }) => state !== "success").map((check) => h(".member", h("div", h("b", plain(check.title, 100))), h("div", plain(check.warning, 300)), h(".quiet", plain(check.solution, 300))))]);
}

const mailPanel = ({ mails }) => h(".panel", h("h2", t("health.mails")), h("p", t(mails.waiting ? "health.waiting" : "health.idle", { n: mails.waiting, seconds: mails.oldest }), " ", mails.failed > 0 && t("health.failed", { n: mails.failed })));

addWords({
  "backups.title": "Backups", "backups.dump": "Back up this database with its own tools: docs/maintenance.md.",
  "backups.off": "Set console.backupFolder to make them here. Otherwise, on the server, with its file and flags:", "backups.folder": "Stored in {folder}; nothing deletes them. Keep some on another machine.",
  "backups.none": "No backups yet.", "backups.owner": "Owners make and download backups.", "backups.make": "Make a backup", "backups.making": "Making the backup; apps keep running.",
  "backups.stopped": "Stopped. There is no backup.", "backups.made": "Backup {name} created", "backups.takeOf": "Download {name}", "backups.restore": "Restore one into a data folder, on any machine:",
});

async function readBackups(host, scope) {
  try {
    const { body } = await send("GET", "backups", { signal: scope });
    if (!body.ownDatabase) return put(host, h("p.quiet", linked(t("backups.dump"))));
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
      if (!scope.aborted) await readBackups(host, scope);
    };
    const make = isOwner ? button(".button", () => {
      if (make.getAttribute("aria-disabled") !== "true") run(async () => (await send("POST", "backups", { body: {} })).body);
    }, icon("plus"), t("backups.make")) : null;
    keepFocus(host, () => put(host, h("p.quiet", t("backups.folder", { folder: body.folder })),
      body.backups.length === 0 && h("p", t("backups.none")), body.backups.map((backup) => backupRow(backup, isOwner)),
      running, isOwner ? h("p", make) : h("p.quiet", t("backups.owner")), restore));
    if (body.task) await run(async () => body.task);
  } catch (problem) {
    if (!scope.aborted) put(host, failed(problem, () => readBackups(host, scope)));
  }
}

function backupRow({ name, bytes: size, at }, isOwner) {
  const take = isOwner ? button(".button", async () => {
    try {
      download((await send("POST", "backups/" + encodeURIComponent(name), { body: {} })).body.url, name);
    } catch (problem) {
      complain(problem);
    }
  }, t("word.download")) : null;
  take?.setAttribute("aria-label", t("backups.takeOf", { name: plain(name, 80) }));
  return h(".line.member.wrap", h(".grow", h("b", shown(name, 100)), h(".quiet", { title: date(at, true) }, bytes(size), " \u00b7 ", ago(at))), take);
}
