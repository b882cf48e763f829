/** All HTTP of the page leaves here: with the token, with errors in words, again after a new sign-in or a lost connection. */

import { h } from "./dom.js";
import { signal } from "./signal.js";
import { plain, t } from "./words.js";

/** The path of the console, with a slash at the end. */
export const base = new URL("../../../", import.meta.url).pathname;

/** The name of the token among what the browser keeps. */
export const TOKEN = "roost.token";

/** Whether the server answers. */
export const isReachable = signal(true);

/** The half of the session that the page keeps. */
export const token = {
  get: () => localStorage.getItem(TOKEN),
  set: (value) => (value ? localStorage.setItem(TOKEN, value) : localStorage.removeItem(TOKEN)),
};

/** A refusal of the server, or a lost connection (status 0). */
export class Refusal extends Error {
  constructor(status, body, request) {
    super(typeof body?.error === "string" ? plain(body.error, 1000) : t("error.status", { status }));
    this.status = status;
    this.code = body?.code;
    this.requestId = body?.requestId;
    this.body = body;
    this.request = request;
  }

  /** Whether it can be asked again: the connection was lost, or the operator did not say again who he is. */
  get isUnfinished() { return this.status === 0 || this.status === 401 || Boolean(this.body?.needs); }
}

const refuse = (refusal) => Promise.reject(new Refusal(401, refusal));

/** What is awaited before a request is sent again: when the session has ended, and when the operator must say again who he is. */
export const asks = { signIn: refuse, confirm: refuse };

/**
 * Sends a request below `/console/api/` and gives `{ body, headers, status }`.
 * Options: `query`, `body`, `headers`, `signal`, `file` (a body that is sent as it is), `isRepeatable` (whether it may be sent
 * again where its answer was lost: else POST may not, and all others may).
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
      // A creation, or an addition, may have arrived although its answer did not.
      if (!(options.isRepeatable ?? (method !== "POST" || path === "session"))) throw new Refusal(0, { error: t("error.lost") });
      await untilReachable(options.signal);
      continue;
    }
    isReachable.set(true);
    if (answer.status === 401 && path !== "session" && path !== "confirm") {
      // Another session may have begun since the request was sent.
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
  // Browsers take such parts, encoded ones too, for steps to another route.
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

/** Asks for the session until the server answers anything. */
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

/** The routes of the REST API, with the rights of the session. */
export const parse = {
  get: (path, query, options) => send("GET", "parse/" + path, { query, ...options }),
  post: (path, body, options) => send("POST", "parse/" + path, { body, ...options }),
  put: (path, body, options) => send("PUT", "parse/" + path, { body, ...options }),
  delete: (path, options) => send("DELETE", "parse/" + path, options),
};

/** Has the browser take a file of ours; nothing of it passes through the page. */
export function download(url, name) {
  const path = new URL(url, location.origin).pathname;
  if (path.startsWith(base)) h("a", { href: path, download: name }).click();
}

/** The path of an object or a class. */
export function objectPath(className, objectId) {
  return "classes/" + encodeURIComponent(className) + (objectId ? "/" + encodeURIComponent(objectId) : "");
}
