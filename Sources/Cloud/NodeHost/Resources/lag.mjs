// Measures the delay of the event loop. The server asks for it, and kills a process that doesn't respond.

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

  /** Returns the maximum delay of the event loop since the previous call, in milliseconds. */
  take() {
    const worst = Math.max(this.#worst, performance.now() - this.#last - interval, 0);
    this.#worst = 0;
    return Math.round(worst);
  }
}
