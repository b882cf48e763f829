// Tracks which call of the server the running code belongs to.

import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage();

/** Runs a function as part of a call. Asynchronous work that it starts also belongs to the call. */
export function runFor(call, body) {
  return storage.run(call, body);
}

/** Returns the call of the running code, or undefined outside of calls. */
export function currentCall() {
  return storage.getStore();
}

/** Returns the call in which an unhandled promise was created. */
export function callOf(promise) {
  // Node 18 to 22 store the call in the promise. Later versions call the handler within the call.
  return storage.getStore() ?? promise?.[storage.kResourceStore];
}
