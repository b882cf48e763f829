// User records that are too large to send with each call. Each arrives separately, and calls refer to it.

import { userOf } from './objects.mjs';

export class CallerRecords {
  #texts = new Map();

  constructor(connection) {
    connection.on('record', ({ record, text }) => this.#texts.set(record, text));
    connection.on('forget', ({ records }) => records.forEach(record => this.#texts.delete(record)));
  }

  /** Adds the record to an arriving call. The server may evict the record before the call runs. */
  complete(call) {
    const { record } = call.request;
    if (record !== undefined) call.userText = this.#texts.get(record) ?? null;
    return call;
  }
}

/** Sets the user of a request. A user from a separate record is created when code first reads it. */
export function setUser(request, call) {
  const text = call.userText;
  if (text === undefined) {
    request.user = userOf(call.request.user);
    return;
  }
  // Otherwise code could mistake a user for an anonymous caller.
  if (text === null) throw new Error('The server sent no record of the caller.');
  lazily(request, 'user', () => userOf(JSON.parse(text)));
}

/** Defines a property whose value is created when it is first read. */
export function lazily(target, name, make) {
  const define = descriptor => Object.defineProperty(target, name, { configurable: true, enumerable: true, ...descriptor });
  const keep = value => define({ value, writable: true })[name];
  define({ get: () => keep(make()), set: keep });
}
