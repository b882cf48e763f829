/** Whether somebody looks at the page: what it asks for by itself keeps a session alive, and that must be able to end. */

/** A reader who does nothing for so long is away. */
const AWAY = 300000;
/** How often, in milliseconds, the page asks what others did while it is looked at. */
export const EVERY = 3000;

/** Marks what the page asks by itself: the server keeps it out of its log. */
export const POLL = { "X-Roost-Poll": "1" };
const EVENTS = ["keydown", "pointermove", "pointerdown", "wheel"];
let active = Date.now();
for (const kind of EVENTS) addEventListener(kind, () => { active = Date.now(); }, { passive: true });

/** Whether the page is looked at now. */
export const isWatched = () => !document.hidden && Date.now() - active < AWAY;

/** Waits until the page is looked at, or `scope` ends. */
export function watched(scope) {
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
