/** The frame: rail, banners, the current page, and the global shortcuts. */

import { asks, isReachable, token, TOKEN } from "../core/api.js";
import { brand, h, icon, put } from "../core/dom.js";
import { addKeys, readable } from "../core/keys.js";
import { address, go, pageAddress, remember, route } from "../core/router.js";
import { applyTheme, readSession, resume, session, signOut, theme } from "../core/session.js";
import { effect, latest } from "../core/signal.js";
import { plain, t } from "../core/words.js";
import { empty, failed, loading } from "../parts/states.js";

const GROUPS = {
  data: ["data", "schema", "access", "users", "files"],
  app: ["start", "cloud", "push", "live", "config", "rest"],
  server: ["logs", "performance", "health", "settings", "trash", "audit"],
};

const PAGES = {
  data: { icon: "data", key: "g d", open: () => import("./data/index.js") },
  schema: { icon: "schema", key: "g s", open: () => import("./schema/index.js") },
  access: { icon: "shield", key: "g w", open: () => import("./access/index.js") },
  users: { icon: "users", key: "g u", open: () => import("./users/index.js") },
  files: { icon: "files", key: "g f", open: () => import("./files/index.js") },
  start: { icon: "start", key: "g b", open: () => import("./start/index.js") },
  cloud: { icon: "cloud", key: "g k", open: () => import("./cloud/index.js") },
  push: { icon: "push", key: "g n", open: () => import("./push/index.js") },
  live: { icon: "live", key: "g v", open: () => import("./live/index.js") },
  config: { icon: "config", key: "g c", open: () => import("./config/index.js") },
  rest: { icon: "code", key: "g a", open: () => import("./rest/index.js") },
  logs: { icon: "logs", key: "g l", open: () => import("./logs/index.js") },
  performance: { icon: "chart", key: "g p", open: () => import("./performance/index.js") },
  health: { icon: "health", key: "g h", open: () => import("./health/index.js") },
  settings: { icon: "settings", key: "g o", open: () => import("./settings/index.js") },
  trash: { icon: "trash", key: "g t", open: () => import("./trash/index.js") },
  audit: { icon: "audit", key: "g e", open: () => import("./audit/index.js") },
};

const FOR_DEVELOPERS = ["logs", "cloud", "push", "rest", "live", "health", "settings"];

const pagesFor = ({ role }) => Object.fromEntries(Object.entries(PAGES).filter(([name]) => ["owner", "developer"].includes(role) || !FOR_DEVELOPERS.includes(name)));

/** Pages in the bar on phones. The others are below "More". */
const IN_BAR = ["data", "schema", "users", "files"];

/** Builds the frame and opens the page in the address. */
export function openShell() {
  const pages = pagesFor(session.peek().operator);
  const main = h("main", { id: "main", tabIndex: -1 });
  const frame = h(".frame", banners(), rail(pages), main);
  put(document.body, h("a.sr", { href: "#main", onclick: () => main.focus() }, t("app.skip")), frame);
  // Shared by all requests rejected by the end of a session, so a late response doesn't reopen the form.
  let renewal = null;
  asks.signIn = () => {
    renewal ??= resume().then(async (isBack) => isBack || (await import("./account.js")).askToSignIn({ isAgain: true })).finally(() => { renewal = null; });
    return renewal;
  };
  watchOperator();
  asks.confirm = async (refusal) => (await import("./account.js")).askToConfirm(refusal);
  addKeys(t("keys.everywhere"), {
    "Mod+k": { words: t("keys.palette"), isAlways: true, do: openPalette },
    "?": { words: t("keys.list"), do: openKeys },
    // With Shift the key means redo, which must not undo another step.
    "Mod+z": { words: t("keys.undo"), do: ({ shiftKey }) => !shiftKey && import("../parts/states.js").then(({ undoLast }) => undoLast()) },
    ...Object.fromEntries(Object.entries(pages).map(([name, { key }]) => [key, {
      words: t("keys.go", { page: t("rail." + name) }), do: () => go(pageAddress(name)),
    }])),
  });
  let shown;
  const next = latest();
  effect(() => {
    const { page } = route();
    if (page === "") {
      go(address("data"), true);
      // An address without a page opens rows immediately, not only a list.
      remember({ isEntry: true });
      return;
    }
    if (page === shown) return;
    shown = page;
    const scope = next();
    if (!Object.hasOwn(PAGES, page)) {
      put(main, empty({ picture: "search", title: t("page.missing", { page }), text: t("page.check"), actions: [h("a.button.primary", { href: address("data") }, t("keys.go", { page: t("rail.data") }))] }));
    } else if (pages[page]) openPage(pages[page], main, scope);
    else put(main, failed({ status: 403, message: t("error.only") }));
  });
}

/** Reloads the page if another tab signs in as another operator, or the operator's name or role changes. */
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
    focusHeading(main, scope);
  } catch (problem) {
    if (!scope.aborted) put(main, failed(problem, () => openPage(entry, main, scope)));
    throw problem;
  }
}

/** Focuses the heading of the page once it exists, unless something else has the focus. The next Tab then leads into the page. */
function focusHeading(main, scope) {
  const isFree = () => [document.body, main].includes(document.activeElement);
  if (isFree()) main.focus({ preventScroll: true });
  const observer = new MutationObserver(() => attempt());
  const attempt = () => {
    const heading = main.querySelector("h1");
    // A redrawn page has a new heading.
    if (isFree() && heading?.checkVisibility()) {
      heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    if (!isFree() && document.activeElement !== heading) observer.disconnect();
  };
  observer.observe(main, { childList: true, subtree: true });
  scope.addEventListener("abort", () => observer.disconnect());
  attempt();
}

function rail(pages) {
  const { server, operator } = session.peek();
  const item = (name, words, keys, action) => h("button.item", { onclick: action, "aria-label": words, title: words }, icon(name), h("span", words), keys && h("kbd", keys));
  const link = (name) => h(IN_BAR.includes(name) ? "a.item" : "a.item.wide", { "aria-label": t("rail." + name), title: t("rail." + name) }, icon(pages[name].icon), h("span", t("rail." + name)));
  const links = new Map(Object.keys(pages).map((name) => [name, link(name)]));
  const groups = Object.entries(GROUPS).map(([group, names]) => [group, names.filter((name) => links.has(name))]);
  effect(() => {
    const { page } = route();
    for (const [name, element] of links) {
      element.href = pageAddress(name);
      element.toggleAttribute("aria-current", name === page);
      if (name === page) element.setAttribute("aria-current", "page");
    }
  });
  const name = plain(operator.name || t("rail.more"), 40);
  const more = item("user", name, "", (event) => openMenu(event.currentTarget, () => [
    ...(matchMedia("(max-width: 639px)").matches ? groups.flatMap(([, names]) => [...names.filter((one) => !IN_BAR.includes(one))
      .map((one) => ({ words: t("rail." + one), icon: pages[one].icon, do: () => go(pageAddress(one)) })), null]) : []),
    ...["auto", "light", "dark"].map((value) => ({
      words: t("theme." + value), isChecked: theme.peek() === value, do: () => applyTheme(value),
    })),
    null,
    { words: t("keys.title"), icon: "keyboard", keys: "?", do: openKeys },
    operator.role === "owner" && { words: t("rail.operators"), icon: "users", do: async () => (await import("./operators.js")).openOperators() },
    { words: t("rail.account"), icon: "lock", do: async () => (await import("./account.js")).openAccount() },
    { words: t("rail.signOut"), icon: "out", do: leave },
  ]));
  more.append(h("span.phone", t("rail.more")));
  more.title = `${name} \u00b7 ${t("role." + operator.role)}`;
  const appName = plain(server.appName || server.appId);
  return h("nav.rail", { "aria-label": t("rail.label") }, h(".app", { title: appName }, brand(h("span.quiet", appName))),
    h(".pages", groups.map(([group, names]) => h("div", { role: "group", "aria-label": t("rail.of." + group) }, h("p.label", { "aria-hidden": "true" }, t("rail.of." + group)), names.map((one) => links.get(one))))),
    item("search", t("rail.find"), readable("Mod+k"), openPalette), more);
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
