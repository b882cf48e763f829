// Schedules calls in turns by client address. In between, the event loop handles the server's messages and sends results.

const slice = 5;

export class CallTurns {
  // The waiting calls by address and id. The next address is first.
  #lines = new Map();
  #sliceBegan;

  /** Starts a call in its turn, or immediately if no call waits and the event loop hasn't been blocked for long. */
  add(call, begin) {
    if (this.#sliceBegan === undefined) {
      this.#sliceBegan = performance.now();
      setImmediate(() => this.#next());
    }
    if (this.#lines.size === 0 && performance.now() - this.#sliceBegan < slice) return begin();
    const address = call.request?.ip ?? '';
    const line = this.#lines.get(address) ?? new Map();
    this.#lines.set(address, line.set(call.id, begin));
  }

  /** Removes a call that hasn't started. Returns whether it was found. */
  remove(id) {
    for (const [address, line] of this.#lines) {
      if (!line.delete(id)) continue;
      if (line.size === 0) this.#lines.delete(address);
      return true;
    }
    return false;
  }

  #next() {
    this.#sliceBegan = undefined;
    if (this.#lines.size === 0) return;
    const start = performance.now();
    this.#sliceBegan = start;
    setImmediate(() => this.#next());
    while (this.#lines.size > 0 && performance.now() - start < slice) {
      const [address, line] = this.#lines.entries().next().value;
      const [id, begin] = line.entries().next().value;
      line.delete(id);
      this.#lines.delete(address);
      if (line.size > 0) this.#lines.set(address, line);
      begin();
    }
  }
}
