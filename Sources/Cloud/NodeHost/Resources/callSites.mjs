// Finds the place in the app's own files that made a call.

import path from 'node:path';
import { fileURLToPath } from 'node:url';

const own = path.dirname(fileURLToPath(import.meta.url));

/**
 * Returns the innermost file and line of the app in the stack, as `index.js:12`, or an empty string if there is none.
 *
 * @param hasColumn Whether to append the column, as `index.js:12:3`.
 */
export function callSite(hasColumn = false) {
  const folder = process.cwd();
  for (const line of new Error().stack.split('\n').slice(1)) {
    const [, place, number, column] = line.match(/\(?((?:file:\/\/)?\/[^()]*?):(\d+)(:\d+)\)?$/) ?? [];
    if (place === undefined) continue;
    const file = place.startsWith('file:') ? fileURLToPath(place) : place;
    if (!file.startsWith(folder + path.sep) || file.startsWith(own) || file.includes('/node_modules/')) continue;
    return `${path.relative(folder, file)}:${number}${hasColumn ? column : ''}`;
  }
  return '';
}
