// When calls begin: one after the other, in turns by the address that they come from. Between them the event loop reads what
// the server asks, and sends what calls have answered.

const slice = 5;

export class CallTurns {
  // By address, the one whose turn is next first; of each the calls by their numbers.
  #lines = new Map();
  #sliceBegan;

  /** Begins a call when it is its turn; at once where the event loop has not been kept for long. */
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

  /** Takes out a call that has not begun. Returns whether there was one. */
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
