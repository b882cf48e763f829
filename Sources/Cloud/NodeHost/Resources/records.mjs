// User records that are too large to send with each call: they arrive once, and calls refer to them.

import { userOf } from './objects.mjs';

export class CallerRecords {
  #texts = new Map();

  constructor(connection) {
    connection.on('record', ({ record, text }) => this.#texts.set(record, text));
    connection.on('forget', ({ records }) => records.forEach(record => this.#texts.delete(record)));
  }

  /** Completes a call as it comes: until its turn, the server may have its record forgotten. */
  complete(call) {
    const { record } = call.request;
    if (record !== undefined) call.userText = this.#texts.get(record) ?? null;
    return call;
  }
}

/** Gives a request its user. Of a record that did not come with the call, one is made when code first asks for it. */
export function setUser(request, call) {
  const text = call.userText;
  if (text === undefined) {
    request.user = userOf(call.request.user);
    return;
  }
  // Code must not mistake a user for an anonymous caller.
  if (text === null) throw new Error('The record of the caller is not here.');
  lazily(request, 'user', () => userOf(JSON.parse(text)));
}

/** Gives an object a member that is made when code first asks for it. */
export function lazily(target, name, make) {
  const define = descriptor => Object.defineProperty(target, name, { configurable: true, enumerable: true, ...descriptor });
  const keep = value => define({ value, writable: true })[name];
  define({ get: () => keep(make()), set: keep });
}
