/** Values that notify their readers of changes. */

let running = null;

/** Creates a value: `s()` reads and subscribes, `s.peek()` only reads, `s.set(v)` writes. */
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

/** Runs a function now and whenever a signal that it read changes, until `scope` (an AbortSignal) ends. */
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

/** Returns a function that creates an AbortSignal and aborts the previous one. All end when one of `scopes` does. */
export function latest(...scopes) {
  let control;
  return () => {
    control?.abort();
    control = new AbortController();
    return AbortSignal.any([...scopes, control.signal]);
  };
}

/** Whether two values are equal, ignoring the order of keys. */
export function isEqual(left, right) {
  return JSON.stringify(sorted(left)) === JSON.stringify(sorted(right));
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value === undefined ? null : value;
  return Object.entries(value).map(([key, member]) => [key, sorted(member)]).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
