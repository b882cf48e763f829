/** All HTTP requests of the page: adds the token, translates errors, and retries after a new sign-in or a lost connection. */

import { h } from "./dom.js";
import { signal } from "./signal.js";
import { plain, t } from "./words.js";

/** The path of the console, with a trailing slash. */
export const base = new URL("../../../", import.meta.url).pathname;

/** The key of the token in local storage. */
export const TOKEN = "roost.token";

/** Whether the server responds. */
export const isReachable = signal(true);

/** The session token. The other half of the session is a cookie. */
export const token = {
  get: () => localStorage.getItem(TOKEN),
  set: (value) => (value ? localStorage.setItem(TOKEN, value) : localStorage.removeItem(TOKEN)),
};

/** The error for a rejected request, or for a lost connection (status 0). */
export class Refusal extends Error {
  constructor(status, body, request) {
    super(typeof body?.error === "string" ? plain(body.error, 1000) : t("error.status", { status }));
    this.status = status;
    this.code = body?.code;
    this.requestId = body?.requestId;
    this.body = body;
    this.request = request;
  }

  /** Whether the request may be retried: the connection was lost, or the operator didn't confirm their identity. */
  get isUnfinished() { return this.status === 0 || this.status === 401 || Boolean(this.body?.needs); }
}

const refuse = (refusal) => Promise.reject(new Refusal(401, refusal));

/** Called before a request is retried: `signIn` if the session has ended, `confirm` if the operator must confirm their identity. */
export const asks = { signIn: refuse, confirm: refuse };

/**
 * Sends a request below `/console/api/` and returns `{ body, headers, status }`. Options: `query`, `body`, `headers`, `signal`, `file` (a
 * body to send unchanged), `isRepeatable` (whether to retry if the response is lost; by default all methods except POST are retried).
 */
export async function send(method, path, options = {}) {
  const entries = Object.entries(options.query ?? {}).filter(([, value]) => value !== undefined && value !== null);
  const query = new URLSearchParams(entries.map(([key, value]) =>
    [key, typeof value === "object" ? JSON.stringify(value) : String(value)])).toString();
  for (;;) {
    let answer;
    let body;
    const own = token.get();
    try {
      answer = await once(method, path + (query ? "?" + query : ""), options);
      body = await read(answer);
    } catch (problem) {
      if (options.signal?.aborted || problem instanceof Refusal) throw problem;
      isReachable.set(false);
      // A creation or increment may have succeeded although its response was lost.
      if (!(options.isRepeatable ?? (method !== "POST" || path === "session"))) throw new Refusal(0, { error: t("error.lost") });
      await untilReachable(options.signal);
      continue;
    }
    isReachable.set(true);
    if (answer.status === 401 && path !== "session" && path !== "confirm") {
      // Another session may have started since the request was sent.
      if (!token.get() || token.get() === own) await asks.signIn(body);
      continue;
    }
    if (body.needs === "confirm" && answer.status === 403) {
      await asks.confirm(body);
      continue;
    }
    if (!answer.ok) {
      const refusal = new Refusal(answer.status, body, `${method} ${path}`);
      refusal.retryAfter = answer.headers.get("Retry-After");
      throw refusal;
    }
    return { body, headers: answer.headers, status: answer.status };
  }
}

function once(method, path, { body, file, headers = {}, signal }) {
  // Browsers resolve such path components, even encoded ones, to another route.
  if (/(^|\/)\.\.?($|[/?])/.test(path)) throw new Refusal(404, {});
  const fields = { "X-Roost-Console": token.get() ?? "", ...headers };
  if (body !== undefined) fields["Content-Type"] = "application/json";
  return fetch(base + "api/" + path, {
    method, signal, headers: fields, cache: "no-store", credentials: "same-origin", redirect: "error",
    body: file ?? (body === undefined ? undefined : JSON.stringify(body)),
  });
}

async function read(answer) {
  const text = await answer.text();
  try {
    return text ? JSON.parse(text) : {};
  } catch {
    return { error: text.slice(0, 300) };
  }
}

let waiting = null;

/** Requests the session until the server responds. */
export function untilReachable(signal) {
  waiting ??= (async () => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 1000));
      try {
        await once("GET", "session", {});
        break;
      } catch {
        continue;
      }
    }
    waiting = null;
    isReachable.set(true);
  })();
  return signal
    ? Promise.race([waiting, new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))])
    : waiting;
}

/** The routes of the REST API, with the permissions of the session. */
export const parse = {
  get: (path, query, options) => send("GET", "parse/" + path, { query, ...options }),
  post: (path, body, options) => send("POST", "parse/" + path, { body, ...options }),
  put: (path, body, options) => send("PUT", "parse/" + path, { body, ...options }),
  delete: (path, options) => send("DELETE", "parse/" + path, options),
};

/** Lets the browser download a file directly, without loading it into the page. */
export function download(url, name) {
  const path = new URL(url, location.origin).pathname;
  if (path.startsWith(base)) h("a", { href: path, download: name }).click();
}

/** The header field that makes the server truncate values above this many bytes. */
export const SHORTEN = { "X-Roost-Shorten": "256" };

/** Returns the path of an object or class. */
export function objectPath(className, objectId) {
  return "classes/" + encodeURIComponent(className) + (objectId ? "/" + encodeURIComponent(objectId) : "");
}

// Polling keeps a session alive, so it must stop when nobody is looking at the page.

/** The milliseconds without input after which the operator counts as away. */
const AWAY = 300000;
/** The polling interval in milliseconds while the page is watched. */
const EVERY = 3000;

/** The header field of polling requests, which the server logs at level debug. */
export const POLL = { "X-Roost-Poll": "1" };
const EVENTS = ["keydown", "pointermove", "pointerdown", "wheel"];
let active = Date.now();
for (const kind of EVENTS) addEventListener(kind, () => { active = Date.now(); }, { passive: true });

/** Whether the page is being looked at. */
export const isWatched = () => !document.hidden && Date.now() - active < AWAY;

/** Calls `ask` regularly while the page is watched, at least every 30 s. Slow responses lengthen the interval. The next call reports lasting problems. */
export async function poll(ask, scope) {
  for (let took = 0; !scope.aborted;) {
    await pause(scope, Math.min(30_000, Math.max(EVERY, took * 20)));
    const began = performance.now();
    if (!scope.aborted) await ask().catch(() => {});
    took = performance.now() - began;
  }
}

/** Waits for a time, and until the page is looked at or `scope` ends. */
export async function pause(scope, time = EVERY) {
  await new Promise((done) => setTimeout(done, time));
  await watched(scope);
}

function watched(scope) {
  if (isWatched() || scope.aborted) return undefined;
  return new Promise((resolve) => {
    const done = new AbortController();
    const look = () => {
      if (!isWatched() && !scope.aborted) return;
      done.abort();
      resolve();
    };
    for (const kind of EVENTS) addEventListener(kind, look, { passive: true, signal: done.signal });
    document.addEventListener("visibilitychange", look, { signal: done.signal });
    scope.addEventListener("abort", look, { signal: done.signal });
  });
}
