// Resolves stand-ins for imports in Node versions whose hooks run in a separate thread.

import { address } from './standIns.mjs';

export function resolve(name, context, next) {
  const url = address(name);
  return url === undefined ? next(name, context) : { url, shortCircuit: true };
}
