// Stand-ins for imports, in versions of Node whose hooks have a thread of their own.

import { address } from './standIns.mjs';

export function resolve(name, context, next) {
  const url = address(name);
  return url === undefined ? next(name, context) : { url, shortCircuit: true };
}
