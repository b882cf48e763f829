/** Tracks whether anyone is looking at the page. Polling keeps a session alive, so it must stop when nobody is. */

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
