/** The frame: rail, banners, the page that the address names, and the keys that work everywhere. */

import { asks, isReachable, token, TOKEN } from "../core/api.js";
import { h, icon, put } from "../core/dom.js";
import { addKeys, readable } from "../core/keys.js";
import { address, go, remember, route } from "../core/router.js";
import { applyTheme, readSession, resume, session, signOut, theme } from "../core/session.js";
import { effect, latest } from "../core/signal.js";
import { plain, t } from "../core/words.js";
import { failed, loading } from "../parts/states.js";

const PAGES = {
  data: { icon: "data", key: "g d", open: () => import("./data/index.js") },
  schema: { icon: "schema", key: "g s", open: () => import("./schema/index.js") },
  access: { icon: "shield", key: "g w", open: () => import("./access/index.js") },
  users: { icon: "users", key: "g u", open: () => import("./users/index.js") },
  files: { icon: "file", key: "g f", open: () => import("./files/index.js") },
  start: { icon: "link", key: "g b", open: () => import("./start/index.js") },
  config: { icon: "config", key: "g c", open: () => import("./config/index.js") },
  logs: { icon: "logs", key: "g l", open: () => import("./logs/index.js") },
  cloud: { icon: "cloud", key: "g k", open: () => import("./cloud/index.js") },
  push: { icon: "push", key: "g n", open: () => import("./push/index.js") },
  rest: { icon: "code", key: "g a", open: () => import("./rest/index.js") },
  live: { icon: "live", key: "g v", open: () => import("./live/index.js") },
  performance: { icon: "chart", key: "g p", open: () => import("./performance/index.js") },
  health: { icon: "check", key: "g h", open: () => import("./health/index.js") },
  settings: { icon: "columns", key: "g o", open: () => import("./settings/index.js") },
  trash: { icon: "trash", key: "g t", open: () => import("./trash/index.js") },
  audit: { icon: "clock", key: "g e", open: () => import("./audit/index.js") },
};

/** Pages whose routes are for developers. */
const FOR_DEVELOPERS = ["logs", "cloud", "push", "rest", "live", "health", "settings"];

/** The pages for an operator: what is beyond the role is not offered. */
const pagesFor = ({ role }) => Object.fromEntries(Object.entries(PAGES).filter(([name]) => ["owner", "developer"].includes(role) || !FOR_DEVELOPERS.includes(name)));

/** Pages that stand in the bar of a phone; the others are behind "More" there. */
const IN_BAR = 4;

/** Takes up the session of another tab, or asks the operator to sign in again. */
async function renew() {
  if (!(await resume())) await (await import("./account.js")).askToSignIn({ isAgain: true });
}

/** Builds the frame, and opens the page of the address. */
export function openShell() {
  const pages = pagesFor(session.peek().operator);
  const main = h("main", { id: "main", tabIndex: -1 });
  const frame = h(".frame", banners(), rail(pages), main);
  put(document.body, h("a.sr", { href: "#main", onclick: () => main.focus() }, t("app.skip")), frame);
  // One for all requests that the end of a session refused: an answer that comes late must not open the form again.
  let renewal = null;
  asks.signIn = () => {
    renewal ??= renew().finally(() => { renewal = null; });
    return renewal;
  };
  watchOperator();
  asks.confirm = async (refusal) => (await import("./account.js")).askToConfirm(refusal);
  addKeys(t("keys.everywhere"), {
    "Mod+k": { words: t("keys.palette"), isAlways: true, do: openPalette },
    "?": { words: t("keys.list"), do: openKeys },
    // With Shift it is the key of doing again, which must not take back one more.
    "Mod+z": { words: t("keys.undo"), do: ({ shiftKey }) => !shiftKey && import("../parts/states.js").then(({ undoLast }) => undoLast()) },
    ...Object.fromEntries(Object.entries(pages).map(([name, { key }]) => [key, {
      words: t("keys.go", { page: t("rail." + name) }), do: () => go(address(name)),
    }])),
  });
  let shown;
  const next = latest();
  effect(() => {
    const { page } = route();
    const name = Object.hasOwn(pages, page) ? page : "data";
    if (name !== page) {
      go(address(name), true);
      // Who comes without an address sees rows at once, not a list alone.
      if (page === "") remember({ isEntry: true });
      return;
    }
    if (name === shown) return;
    shown = name;
    openPage(pages[name], main, next());
  });
}

/** Another tab may have signed in as another: the name follows, and what the rights of another show is drawn anew. */
function watchOperator() {
  const first = session.peek().operator;
  const rights = ({ id, role }) => JSON.stringify([id, role]);
  addEventListener("storage", ({ key }) => {
    if (key === TOKEN && token.get()) readSession().catch(() => {});
  });
  effect(() => {
    const now = session()?.operator;
    if (now && (rights(now) !== rights(first) || now.name !== first.name)) location.reload();
  });
}

async function openPage(entry, main, scope) {
  put(main, loading());
  try {
    const page = await entry.open();
    if (scope.aborted) return;
    put(main, page.open(scope));
    // The next Tab leads into the page.
    if (document.activeElement === document.body) main.focus({ preventScroll: true });
  } catch (problem) {
    if (!scope.aborted) put(main, failed(problem, () => openPage(entry, main, scope)));
    throw problem;
  }
}

function rail(pages) {
  const { server, operator } = session.peek();
  const appName = plain(server.appName || server.appId);
  const item = (name, words, keys, action) => h("button.item", { onclick: action, "aria-label": words, title: words },
    icon(name), h("span", words), keys && h("kbd", keys));
  const links = Object.entries(pages).map(([name, page], index) => h(index < IN_BAR ? "a.item" : "a.item.wide", { href: address(name), "aria-label": t("rail." + name), title: t("rail." + name) },
    icon(page.icon), h("span", t("rail." + name))));
  effect(() => {
    const { page } = route();
    Object.keys(pages).forEach((name, index) => {
      if (name === page) links[index].setAttribute("aria-current", "page");
      else links[index].removeAttribute("aria-current");
    });
  });
  const more = item("more", operator.name ? plain(operator.name, 40) : t("rail.more"), "", (event) => openMenu(event.currentTarget, () => [
    ...(matchMedia("(max-width: 639px)").matches ? Object.entries(pages).slice(IN_BAR)
      .map(([name, page]) => ({ words: t("rail." + name), icon: page.icon, do: () => go(address(name)) })).concat(null) : []),
    ...["auto", "light", "dark"].map((value) => ({
      words: t("theme." + value), isChecked: theme.peek() === value, do: () => applyTheme(value),
    })),
    null,
    { words: t("keys.title"), icon: "keyboard", keys: "?", do: openKeys },
    operator.role === "owner" && { words: t("rail.operators"), icon: "users", do: async () => (await import("./operators.js")).openOperators() },
    { words: t("rail.account"), icon: "lock", do: async () => (await import("./account.js")).openAccount() },
    { words: t("rail.signOut"), icon: "out", do: leave },
  ]));
  more.title = `${plain(operator.name, 40)} \u00b7 ${t("role." + operator.role)}`;
  return h("nav.rail", { "aria-label": t("rail.label") },
    h(".app", { title: appName }, h("span.logo", icon("data")), h("span", appName)),
    links, h(".space"), item("search", t("rail.find"), readable("Mod+k"), openPalette), more);
}

function banners() {
  const host = h(".banners");
  const down = h(".banner.bad", { role: "alert", hidden: true }, icon("warn"), t("net.down"));
  effect(() => { down.hidden = isReachable(); });
  host.append(down);
  return host;
}

async function openMenu(anchor, rows) {
  (await import("../parts/dialog.js")).openMenu(anchor, rows());
}

async function leave() {
  try {
    await signOut();
  } finally {
    token.set(null);
    location.assign(address(""));
  }
}

async function openPalette() {
  (await import("./palette.js")).open(pagesFor(session.peek().operator));
}

async function openKeys() {
  (await import("./palette.js")).openKeys();
}
