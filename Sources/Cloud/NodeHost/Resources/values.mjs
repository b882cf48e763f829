// Converts a server's options to JSON, and lists the values that JSON can't represent.

import { adapters } from './parseServer.mjs';

const deepest = 32;

/** Returns `{options, marks}`: plain values, and the paths of functions, instances and cycles, which JSON can't represent. */
export function plain(options) {
  const marks = [];
  const mark = (path, kind, name) => {
    marks.push({ path, kind, name });
    return undefined;
  };
  function copy(value, path, above) {
    if (typeof value === 'function') return mark(path, 'function', value.name);
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'symbol') return undefined;
    if (value === null || typeof value !== 'object') return value;
    const adapter = adapters.get(value);
    if (adapter !== undefined) return { module: adapter.module, options: copy(adapter.options, [...path, 'options'], above) ?? {} };
    if (value instanceof RegExp) return value.flags === '' ? value.source : String(value);
    if (value instanceof Date) return value.toISOString();
    if (above.includes(value) || above.length > deepest) return mark(path, 'cycle', '');
    const inside = [...above, value];
    if (Array.isArray(value)) return value.map((element, index) => copy(element, [...path, String(index)], inside) ?? null);
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return mark(path, 'instance', value.constructor?.name ?? '');
    const result = {};
    for (const [key, element] of Object.entries(value)) {
      const copied = copy(element, [...path, key], inside);
      if (copied !== undefined) result[key] = copied;
    }
    return result;
  }
  return { options: copy(options, [], []) ?? {}, marks };
}
