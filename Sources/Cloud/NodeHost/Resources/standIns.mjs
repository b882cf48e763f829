// Provides stand-ins for packages that the app's own index.js or an adapter requires or imports.

import https from 'node:https';
import Module from 'node:module';
import { resolve } from './importHooks.mjs';
import { AuthAdapter, ParseDashboard, ParseServer, adapterOf } from './parseServer.mjs';

// Packages for which Roost has built-in adapters, so that only their options matter.
const known = new RegExp('^(@parse/(simple-mailgun|s3-files|gcs-files|fs-files|push)-adapter'
  + '|parse-server-(mailgun|s3-adapter|gcs-adapter|fs-adapter|smtp-adapter|push-adapter)'
  + '|parse-server-(simple-mailgun|amazon-ses|amazon-ses-email|simple-ses|sendgrid|sendgrid-email|postmark|mandrill)-adapter'
  + '|(@[^/]+/)?parse-server-(simple-)?mailgun-adapter-template'
  + '|parse-smtp-template|simple-parse-smtp-adapter|parse-mail-adapter-smtp-ejs)$');

/** Sends a request, and resolves to the JSON of the response, or to its text if `isText`. */
const send = (options, body, isText) => new Promise((resolve, reject) => {
  https.request(options, async response => {
    try {
      const text = Buffer.concat(await response.toArray()).toString();
      resolve(isText ? text : JSON.parse(text));
    } catch (error) {
      reject(error);
    }
  }).on('error', reject).end(body);
});

// The internal modules that sign-in adapters extend and call.
const internal = {
  AuthAdapter: { AuthAdapter, default: AuthAdapter },
  httpsRequest: { get: (options, isText) => send(options, undefined, isText), request: send },
};

/** Returns the stand-in for a package, or undefined to load the app's own. Throws for internal modules of parse-server. */
function standIn(name) {
  if (/^parse-server(\/lib(\/(index|ParseServer)(\.js)?)?)?$/.test(name)) return ParseServer;
  if (name === 'parse-dashboard') return ParseDashboard;
  const [, part] = name.match(/^parse-server\/lib\/Adapters\/Auth\/(AuthAdapter|httpsRequest)(?:\.js)?$/) ?? [];
  if (part !== undefined) return internal[part];
  if (/^parse-server\//.test(name)) throw new Error(`require('${name}'): parse-server's modules don't work in Roost.`);
  if (!known.test(name)) return undefined;
  const make = adapterOf(name);
  return Object.assign(make, { default: make, ParsePushAdapter: make, S3Adapter: make });
}

/** Returns the URL of a module with a stand-in for imports, or undefined to load the app's own package. */
export function address(name) {
  if (standIn(name) === undefined) return undefined;
  if (standIn(name) === ParseServer) return new URL('./parseServer.mjs', import.meta.url).href;
  const code = `const value = globalThis[Symbol.for('roost.standIn')](${JSON.stringify(name)});
    export default value; export const { ParsePushAdapter, S3Adapter, get, request } = value;`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Makes `require` return those stand-ins that sign-in and mail adapters use, as long as `isLoading` returns true. */
export function installAdapterStandIns(isLoading) {
  replaceLoad(name => (isLoading() && name.startsWith('parse-server') ? standIn(name) : undefined));
}

function replaceLoad(find) {
  const load = Module._load;
  Module._load = function (request, ...rest) {
    return find(request) ?? load.call(this, request, ...rest);
  };
}

export function installStandIns() {
  replaceLoad(standIn);
  globalThis[Symbol.for('roost.standIn')] = standIn;
  if (Module.registerHooks !== undefined) {
    Module.registerHooks({ resolve });
  } else if (Module.register !== undefined) {
    Module.register(new URL('./importHooks.mjs', import.meta.url));
  }
}
