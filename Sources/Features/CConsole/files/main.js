/** Starts the page: the session, the frame, and the page in the address. */

import { isReachable, token } from "./core/api.js";
import { h, put } from "./core/dom.js";
import { start as startKeys } from "./core/keys.js";
import { start as startRouter } from "./core/router.js";
import { applyTheme, resume, session } from "./core/session.js";
import { plain, t } from "./core/words.js";
import { loadClasses } from "./data/schema.js";
import { openShell } from "./pages/shell.js";
import { failed } from "./parts/states.js";

const askToSignIn = async (options) => (await import("./pages/account.js")).askToSignIn(options);

async function begin() {
  applyTheme();
  startRouter();
  startKeys();
  // Loads the classes in parallel with the session, which saves a round trip before the first rows.
  if (token.get() && !location.hash.includes("ticket=")) loadClasses();
  try {
    if (!(await resume())) await askToSignIn();
  } catch (problem) {
    if (problem.status !== 401 && problem.status !== 429) {
      put(document.body, h("main", failed(problem, () => location.reload())));
      return;
    }
    await askToSignIn({ problem });
  }
  document.title = `${plain(session.peek().server.appName || t("app.title"))} \u00b7 ${t("app.title")}`;
  isReachable.set(true);
  openShell();
}

// If a URL with a ticket is opened in this tab, only the fragment changes.
addEventListener("hashchange", () => { if (location.hash.startsWith("#ticket=")) location.reload(); });
begin();
