// Resolves and loads the app's modules.

import fs from 'node:fs';
import Module, { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Resolves `require('cloud/x')` in the folder of main.js, and rejects parse-server and its modules, which can't work in
 * Roost.
 */
export function adaptRequire(main) {
  const folder = path.dirname(main);
  const resolve = Module._resolveFilename;
  Module._resolveFilename = function (request, ...rest) {
    if (/^parse-server(\/|$)/.test(request)) {
      throw new Error(`require('${request}'): parse-server's modules don't work in Roost.`);
    }
    try {
      return resolve.call(this, request, ...rest);
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND' || !request.startsWith('cloud/')) throw error;
      return resolve.call(this, path.join(folder, request.slice('cloud/'.length)), ...rest);
    }
  };
}

/**
 * Loads main.js and waits for a promise that it exports.
 *
 * @param isProgram Whether the file is loaded as the main program, so that `require.main === module`.
 */
export async function loadMain(main, isProgram = false) {
  const load = file => (isProgram ? Module._load(file, null, true) : createRequire(file)(file));
  const loaded = isModule(main) ? await import(pathToFileURL(main)) : load(main);
  await (typeof loaded?.then === 'function' ? loaded : loaded?.default);
}

/** Loads a CommonJS or ES module. */
export async function loadModule(file) {
  return isModule(file) ? import(pathToFileURL(file)) : createRequire(file)(file);
}

/** Returns whether a file is an ES module, according to its name and the nearest package.json. */
function isModule(file) {
  if (file.endsWith('.mjs')) return true;
  if (file.endsWith('.cjs')) return false;
  for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).type === 'module';
    } catch (error) {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
    }
    if (folder === path.dirname(folder)) return false;
  }
}
