/** The signed-in operator. */

import { send, token } from "./api.js";
import { signal } from "./signal.js";
import { plain } from "./words.js";

/** The session as `{ operator, server, features }`, or null. */
export const session = signal(null);

/** The available sign-in methods, from the server's last rejection. */
export const ways = signal({ ways: [], first: false });

/** Loads the session of the browser's cookie and token into `session`. Throws if there is none. */
export async function readSession(options) {
  session.set((await send("GET", "session", options)).body);
}

/** Resumes the browser's session, or signs in with the ticket in the address. Returns whether there is a session. */
export async function resume() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket !== null) history.replaceState(history.state, "", location.pathname + location.search);
  let refused;
  try {
    if (ticket) {
      await signIn({ ticket });
      return true;
    }
  } catch (problem) {
    // The ticket may have expired while the session is still valid.
    if (problem.status !== 401 && problem.status !== 429) throw problem;
    refused = problem;
  }
  try {
    await readSession();
    return true;
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    ways.set({ ways: problem.body.ways ?? ["operator", "masterKey"], first: Boolean(problem.body.first) });
    if (refused) throw refused;
    return false;
  }
}

export async function signIn(credentials) {
  const { body } = await send("POST", "session", { body: credentials });
  token.set(body.token);
  delete body.token;
  session.set(body);
}

export async function signOut() {
  try {
    await send("DELETE", "session", { isRepeatable: false });
  } finally {
    token.set(null);
    session.set(null);
  }
}

export function setTitle(...names) {
  const { appName, appId } = session.peek().server;
  document.title = [...names, appName || appId].filter(Boolean).map((name) => plain(name)).join(" \u00b7 ");
}

export const mayWrite = () => session()?.operator.role !== "viewer";

/** Whether the operator may change classes, their fields and their permissions. */
export const mayChangeClasses = () => ["owner", "developer"].includes(session()?.operator.role);

const KEY = "roost.theme";

/** The theme: "auto", "light" or "dark". */
export const theme = signal(localStorage.getItem(KEY) ?? "auto");

export function applyTheme(value = theme.peek()) {
  theme.set(value);
  if (value === "auto") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, value);
    document.documentElement.dataset.theme = value;
  }
}
