// Loads the app's own copy of the package `parse` and replaces parts of it.

import { createRequire } from 'node:module';
import path from 'node:path';

/** Loads the SDK from the app's node_modules as the global `Parse`. */
export function loadSDK(main, settings) {
  let loaded;
  try {
    loaded = createRequire(fileNearSDK(main))('parse/node');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND' || !error.message.includes("'parse/node'")) throw error;
    const folder = path.dirname(main);
    const missing = new Error(`option cloud: the package parse was not found from ${folder}. `
      + `Cloud code requires the Parse SDK: cd ${folder} && npm install parse`);
    // The stack trace wouldn't help.
    missing.stack = missing.message;
    throw missing;
  }
  const Parse = [loaded, loaded.default, loaded.Parse].find(candidate => typeof candidate?.initialize === 'function');
  if (Parse === undefined) throw new Error('The package parse is not the Parse SDK: it has no Parse.initialize.');
  Parse.initialize(settings.applicationId, settings.javascriptKey ?? 'unused', settings.masterKey);
  Parse.serverURL = settings.serverURL;
  globalThis.Parse = Parse;
  return Parse;
}

/** Returns the file from which the SDK is resolved: the app's, or one in the app's parse-server, which includes an SDK. */
function fileNearSDK(main) {
  const { resolve } = createRequire(main);
  try {
    resolve('parse/node');
  } catch {
    try {
      return resolve('parse-server/package.json');
    } catch {
      // The error message names the app's folder.
    }
  }
  return main;
}

/**
 * Sends the SDK's requests over the connection instead of HTTP. They need no keys, and the server knows to which call
 * they belong.
 */
export function routeRequests(Parse, connection, currentCall) {
  const original = Parse.CoreManager.getRESTController();

  const parentOf = call => call && { id: call.id, depth: call.depth, requestId: call.requestId };

  async function send(method, requestPath, data, options) {
    const answer = await connection.ask('rest', {
      method,
      path: requestPath.startsWith('/') ? requestPath : `/${requestPath}`,
      body: data ?? {},
      master: options.useMasterKey ?? Parse.CoreManager.get('USE_MASTER_KEY') ?? false,
      sessionToken: typeof options.sessionToken === 'string' ? options.sessionToken : undefined,
      installationId: typeof options.installationId === 'string' && options.installationId || undefined,
      context: options.context,
      parent: parentOf(currentCall()),
    });
    const body = answer.body ?? {};
    if (answer.status >= 400) throw new Parse.Error(body.code ?? Parse.Error.INTERNAL_SERVER_ERROR, body.error);
    if (options.returnStatus) return [{ ...body, _status: answer.status, _headers: answer.headers }];
    const id = answer.headers?.['X-Parse-Job-Status-Id'] ?? answer.headers?.['X-Parse-Push-Status-Id'];
    return [id ?? body, answer.status];
  }

  function request(method, requestPath, data, options = {}) {
    // Files are uploaded over HTTP because their bytes aren't JSON.
    if (/^\/?files(\/|$)/.test(requestPath)) return original.request(method, requestPath, data, options);
    return promiseOf(Parse, send(method, requestPath, data, options));
  }

  Parse.CoreManager.setRESTController({ ...original, request });
}

/**
 * Returns a promise of the SDK's own kind. SDKs before version 2 have promises with additional methods and several
 * results.
 *
 * @param results A native promise of the list of results.
 */
export function promiseOf(Parse, results) {
  if (typeof Parse.Promise !== 'function') return results.then(([first]) => first);
  const promise = new Parse.Promise();
  results.then(list => promise.resolve(...list), error => promise.reject(error));
  return promise;
}
