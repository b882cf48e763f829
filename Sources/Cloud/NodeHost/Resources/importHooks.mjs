// Resolves stand-ins for imports. Some Node versions run these hooks in a separate thread.

import { address } from './standIns.mjs';

export function resolve(name, context, next) {
  const url = address(name);
  return url === undefined ? next(name, context) : { url, shortCircuit: true };
}
