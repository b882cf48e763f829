// Which call of the server the code that runs now belongs to.

import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage();

/** Runs a function for a call; what it starts belongs to the call as well. */
export function runFor(call, body) {
  return storage.run(call, body);
}

/** The call that the running code belongs to; undefined for code that runs by itself. */
export function currentCall() {
  return storage.getStore();
}

/** The call in which a promise was made that nobody handles. */
export function callOf(promise) {
  // Node 18 to 22 keep it at the promise; later ones call the handler on behalf of it.
  return storage.getStore() ?? promise?.[storage.kResourceStore];
}
