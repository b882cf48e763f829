/** Who is signed in. */

import { send, token } from "./api.js";
import { signal } from "./signal.js";
import { plain } from "./words.js";

/** `{ operator, server, features }`, or null. */
export const session = signal(null);

/** The ways to sign in that the server offers, from its last refusal. */
export const ways = signal({ ways: [], first: false });

/** Asks who is signed in. */
export async function readSession() {
  session.set((await send("GET", "session")).body);
}

/** Takes up the session that the browser has, or one by the ticket in the address; gives whether there is one. */
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

/** Signs in by a name and a password, a master key or a ticket. */
export async function signIn(credentials) {
  const { body } = await send("POST", "session", { body: credentials });
  token.set(body.token);
  delete body.token;
  session.set(body);
}

/** Ends the session. */
export async function signOut() {
  try {
    await send("DELETE", "session", { isRepeatable: false });
  } finally {
    token.set(null);
    session.set(null);
  }
}

/** Calls the window by what it shows, and the app. */
export function setTitle(...names) {
  const { appName, appId } = session.peek().server;
  document.title = [...names, appName || appId].filter(Boolean).map((name) => plain(name)).join(" \u00b7 ");
}

/** Whether the operator may change objects. */
export const mayWrite = () => session()?.operator.role !== "viewer";

/** Whether the operator may change classes. */
export const mayChangeClasses = () => ["owner", "developer"].includes(session()?.operator.role);

const KEY = "roost.theme";

/** "auto", "light" or "dark". */
export const theme = signal(localStorage.getItem(KEY) ?? "auto");

/** Shows the page in the chosen colours. */
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
