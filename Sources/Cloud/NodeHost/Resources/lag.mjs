// How late the event loop is: the server asks, and kills a process that does not answer.

const interval = 500;

export class LagMeter {
  #worst = 0;
  #last = performance.now();

  constructor() {
    setInterval(() => {
      const now = performance.now();
      this.#worst = Math.max(this.#worst, now - this.#last - interval);
      this.#last = now;
    }, interval).unref();
  }

  /** The longest time, in milliseconds, that the event loop was late since this was last asked. */
  take() {
    const worst = Math.max(this.#worst, performance.now() - this.#last - interval, 0);
    this.#worst = 0;
    return Math.round(worst);
  }
}
