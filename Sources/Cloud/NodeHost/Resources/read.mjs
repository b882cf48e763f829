// Runs an app's own index.js to learn how it configures its server, and writes that to a file: node read.mjs <index.js>
//
// Nothing listens. Once the server is created, the app can't connect to anything or start programs, because this isn't its
// real run.

import { AsyncLocalStorage } from 'node:async_hooks';
import childProcess from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import path from 'node:path';
import { callSite } from './callSites.mjs';
import { loadMain } from './modules.mjs';
import { mountPath, observe, servers } from './parseServer.mjs';
import { loadSDK } from './sdk.mjs';
import { installStandIns } from './standIns.mjs';
import { plain } from './values.mjs';
import { startWatchdog } from './watchdog.mjs';

const { ROOST_RECORD: target } = process.env;
delete process.env.ROOST_RECORD;
startWatchdog(process.ppid);
const main = process.argv[2];
process.argv.splice(1, 1);

const notes = [];
const listens = [];
const once = new Set();
// Options whose functions are called once at start. They may send requests to other servers.
const askedOnce = ['publicServerURL', 'masterKey'];
const asking = new AsyncLocalStorage();
let unanswered = 0;
let quietSince = performance.now();

function noted(note) {
  notes.push(note);
  quietSince = performance.now();
}

/** Calls these options of a server if they are functions. */
function ask(entry) {
  Object.assign(entry, { values: {}, asked: {} });
  for (const name of askedOnce.filter(option => typeof entry.options[option] === 'function')) {
    unanswered += 1;
    const late = new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error('it took longer than 10 s')), 10_000).unref();
    });
    Promise.race([asking.run(true, async () => entry.options[name]()), late]).then(value => {
      if (typeof value !== 'string' || value === '') throw new Error('it returned no string');
      entry.values[name] = value;
      entry.asked[name] = true;
    }).catch(error => {
      entry.asked[name] = String(error?.message ?? error);
    }).finally(() => {
      unanswered -= 1;
      quietSince = performance.now();
    });
  }
}

/** Makes a function fail once the server is created. */
function refuseLater(owner, name, what) {
  const original = owner[name];
  owner[name] = function (...args) {
    if (servers.length === 0 || asking.getStore()) return original.apply(this, args);
    if (!once.has(what)) noted({ what, at: callSite() });
    once.add(what);
    throw Object.assign(new Error(`Roost is reading the app's configuration. The app ${what} only when it runs.`), { code: 'ECONNREFUSED' });
  };
}

// The small files that the app reads, by content. Certificates and keys are among them.
const filesByContent = new Map();
const { readFileSync } = fs;
fs.readFileSync = function (file, ...rest) {
  const content = readFileSync.call(this, file, ...rest);
  const isSmall = content.length < 1_000_000;
  if (isSmall && typeof file === 'string') filesByContent.set(String(content), path.resolve(file));
  return content;
};
syncBuiltinESMExports();

/** Returns the files of the certificate and key of an HTTPS server, as far as they are known. */
function certificate({ cert, key }) {
  return { certificate: filesByContent.get(String(cert)), key: filesByContent.get(String(key)) };
}

net.Server.prototype.listen = function (...args) {
  const [first, second] = args;
  const options = first !== null && typeof first === 'object' ? first : { port: first, host: typeof second === 'string' ? second : undefined };
  const port = Number(options.port ?? 0);
  // Roost replaces only the port of an HTTP server, not those of other protocols.
  const isHTTP = this instanceof http.Server || this instanceof https.Server;
  if (isHTTP && Number.isInteger(port) && port >= 0 && port < 65536) {
    const secure = this instanceof https.Server ? certificate(this) : undefined;
    listens.push({ port, host: options.host, https: secure, at: callSite(), server: this });
  }
  const callback = args.find(argument => typeof argument === 'function');
  this.address = () => ({ port, address: options.host ?? '::', family: 'IPv6' });
  if (callback) this.once('listening', callback);
  setImmediate(() => this.emit('listening'));
  return this;
};
net.Server.prototype.close = function (callback) {
  setImmediate(() => callback?.());
  return this;
};
refuseLater(net.Socket.prototype, 'connect', 'connects to other servers');
refuseLater(childProcess.ChildProcess.prototype, 'spawn', 'starts programs');

observe({
  server: entry => {
    quietSince = performance.now();
    ask(entry);
    return Promise.resolve();
  },
  noted,
});
process.on('unhandledRejection', error => noted({ what: 'rejection', text: String(error?.stack ?? error) }));
process.on('uncaughtException', error => finish(error));
process.on('exit', () => finish());

try {
  installParse(loadSDK(main, { applicationId: 'unused', serverURL: 'http://127.0.0.1/parse' }));
} catch {
  // The app gets the error when it uses the SDK.
}
installStandIns();
let isLoaded = false;
loadMain(main, true).catch(error => {
  if (servers.length === 0) finish(error);
  noted({ what: 'rejection', text: String(error?.stack ?? error) });
}).then(() => {
  isLoaded = true;
});

// Reading ends when the app has been inactive for 150 ms, for 1 s if it doesn't listen, or for 20 s if it has no server.
setInterval(() => {
  const quiet = performance.now() - quietSince;
  if (unanswered > 0) return;
  const hasServer = isLoaded && servers.length > 0;
  if (quiet > (hasServer && listens.length > 0 ? 150 : hasServer ? 1000 : 20_000)) finish();
}, 25);

/** Returns the settings of the application that mounts a ParseServer, and the index of its HTTP server or of the first one. */
function outside({ server }) {
  let app = server.parent;
  while (app?.parent) app = app.parent;
  // An application inherits the setting of the one that mounts it.
  const trust = server.parent?.get?.('trust proxy');
  return {
    listen: Math.max(listens.findIndex(({ server }) => app && server.listeners('request').includes(app)), 0),
    trustProxy: trust && typeof trust !== 'function' ? trust : undefined,
  };
}

function installParse(Parse) {
  // Functions that only the server's SDK has are ignored here. They work in the app's real run.
  Parse.Cloud = new Proxy(Parse.Cloud, { get: (cloud, name) => (name in cloud ? cloud[name] : () => {}) });
}

function finish(error) {
  if (finish.isOver) return;
  finish.isOver = true;
  const record = {
    servers: servers.map(entry => ({ at: entry.at, mountPath: mountPath(entry), port: entry.port, ...outside(entry), asked: entry.asked,
      ...plain({ ...entry.options, ...entry.values }) })),
    listens: listens.map(({ server, ...listen }) => listen), notes, version: version(), error: error === undefined ? undefined : String(error?.stack ?? error),
  };
  fs.writeFileSync(target, JSON.stringify(record));
  process.kill(process.pid, 'SIGKILL');
}

/** Returns the app's version of parse-server: the installed one, or the one required in package.json. */
function version() {
  for (let folder = path.dirname(main); ; folder = path.dirname(folder)) {
    for (const [file, find] of [
      ['node_modules/parse-server/package.json', ({ version }) => version],
      ['package.json', ({ dependencies, devDependencies }) => ({ ...devDependencies, ...dependencies })['parse-server']],
    ]) {
      try {
        const found = find(JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8')));
        if (typeof found === 'string') return found;
      } catch {
        // Continues in the next folder.
      }
    }
    if (folder === path.dirname(folder)) return undefined;
  }
}
