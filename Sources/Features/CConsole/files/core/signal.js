/** Values that notify what was derived from them. */

let running = null;

/** A value with readers: `s()` reads and subscribes, `s.peek()` only reads, `s.set(v)` writes. */
export function signal(value) {
  const readers = new Set();
  const read = () => {
    if (running) {
      readers.add(running);
      running.sources.add(readers);
    }
    return value;
  };
  read.peek = () => value;
  read.set = (next) => {
    if (Object.is(next, value)) return;
    value = next;
    read.notify();
  };
  read.notify = () => {
    for (const reader of [...readers]) reader.run();
  };
  return read;
}

/** Runs a function now, and again when a signal that it read changes, until `scope` (an AbortSignal) ends it. */
export function effect(body, scope) {
  const self = {
    sources: new Set(),
    run() {
      if (scope?.aborted) return;
      self.end();
      const outer = running;
      running = self;
      try {
        body();
      } finally {
        running = outer;
      }
    },
    end() {
      for (const readers of self.sources) readers.delete(self);
      self.sources.clear();
    },
  };
  scope?.addEventListener("abort", self.end);
  self.run();
  return self.end;
}

/** Gives an AbortSignal for the last of several things, each of which ends the one before, until one of `scopes` ends all. */
export function latest(...scopes) {
  let control;
  return () => {
    control?.abort();
    control = new AbortController();
    return AbortSignal.any([...scopes, control.signal]);
  };
}

/** Whether two values are the same, the order of keys aside. */
export function isEqual(left, right) {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value === undefined ? null : value;
  return Object.entries(value).map(([key, member]) => [key, sorted(member)]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
