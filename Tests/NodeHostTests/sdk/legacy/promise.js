// Promises of SDKs before version 2, which are resolved from outside, with any number of results.
'use strict';

const isPromise = value => typeof value?.then === 'function';

class ParsePromise {
  #outcome;
  #waiting = [];

  resolve(...results) { this.#settle({ results }); }
  reject(error) { this.#settle({ error, isRejected: true }); }

  #settle(outcome) {
    if (this.#outcome) throw new Error('A promise was resolved even though it had already been.');
    this.#outcome = outcome;
    for (const wait of this.#waiting) wait(outcome);
  }

  then(onSuccess, onError) {
    const next = new ParsePromise();
    const go = ({ results, error, isRejected }) => {
      const handler = isRejected ? onError : onSuccess;
      if (typeof handler !== 'function') return isRejected ? next.reject(error) : next.resolve(...results);
      let value;
      try {
        value = isRejected ? handler(error) : handler(...results);
      } catch (thrown) {
        return next.reject(thrown);
      }
      if (isPromise(value)) value.then((...all) => next.resolve(...all), reason => next.reject(reason));
      else next.resolve(value);
    };
    if (this.#outcome) process.nextTick(go, this.#outcome);
    else this.#waiting.push(go);
    return next;
  }

  always(handler) { return this.then(handler, handler); }
  fail(handler) { return this.then(undefined, handler); }

  _thenRunCallbacks(options, model) {
    return this.then(
      (...results) => {
        options?.success?.(...results);
        return ParsePromise.as(...results);
      },
      error => {
        if (model === undefined) options?.error?.(error);
        else options?.error?.(model, error);
        return ParsePromise.error(error);
      });
  }

  static as(...results) {
    const promise = new ParsePromise();
    promise.resolve(...results);
    return promise;
  }

  static error(error) {
    const promise = new ParsePromise();
    promise.reject(error);
    return promise;
  }

  static when(promises) {
    const all = new ParsePromise();
    const results = [];
    let left = promises.length;
    promises.forEach((promise, index) => (isPromise(promise) ? promise : ParsePromise.as(promise)).then(
      value => {
        results[index] = value;
        left -= 1;
        if (left === 0) all.resolve(results);
      },
      error => all.reject([error])));
    return all;
  }
}

module.exports = { ParsePromise };
