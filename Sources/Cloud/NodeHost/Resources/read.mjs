// Runs an app's own index.js to learn how it configures its server, and writes that to a file: node read.mjs <index.js>
//
// Nothing listens. Once the server is created, only the functions of `askedOnce` can open connections, start programs
// or write files, because this isn't the app's real run.

import { AsyncLocalStorage } from 'node:async_hooks';
import childProcess from 'node:child_process';
import dgram from 'node:dgram';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { devNull } from 'node:os';
import path from 'node:path';
import { Writable } from 'node:stream';
import threads from 'node:worker_threads';
import { nameListen, portOf } from './app.mjs';
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
// Options whose functions are called once at start. They may send requests to other servers.
const askedOnce = ['publicServerURL', 'masterKey'];
const asking = new AsyncLocalStorage();
const probing = new AsyncLocalStorage();
let unanswered = 0;
let quietSince = performance.now();
let isProbing = false;

function noted(note) {
  if (isProbing) return;
  notes.push(note);
  quietSince = performance.now();
}

/** Calls the options in `askedOnce` that are functions. */
function ask(entry) {
  Object.assign(entry, { values: {}, asked: {} });
  for (const name of askedOnce.filter(option => typeof entry.options[option] === 'function')) {
    unanswered += 1;
    const late = new Promise((_, reject) => setTimeout(reject, 10_000, new Error('it took longer than 10 s')).unref());
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

const isRefused = () => servers.length > 0 && !asking.getStore();

const noteOnce = what => notes.some(note => note.what === what) || noted({ what, at: callSite() });

function raise(error) {
  throw error;
}

/** Makes a function only call `fail` once the server is created. */
function refuseLater(owner, name, what, fail = raise) {
  const original = owner[name];
  owner[name] = function (...args) {
    if (!isRefused()) return original.apply(this, args);
    noteOnce(what);
    const text = `Roost is reading the app's configuration. The app ${what} only when it runs.`;
    return fail(Object.assign(new Error(text), { code: 'ECONNREFUSED' }), args.at(-1));
  };
}

// The paths of the small files that the app reads, by content. They may include the certificate and the key.
const filesByContent = new Map();
const { readFileSync, writeFileSync } = fs;
fs.readFileSync = function (file, ...rest) {
  const content = readFileSync.call(this, file, ...rest);
  const isSmall = content.length < 1_000_000;
  if (isSmall && typeof file === 'string') filesByContent.set(String(content), path.resolve(file));
  return content;
};

net.Server.prototype.listen = function (...args) {
  const [first, second] = args;
  const host = typeof second === 'string' ? second : first?.host;
  const port = portOf(args);
  const isSecure = this instanceof https.Server;
  // Roost replaces only the port of an HTTP server, not those of other protocols.
  if (port !== undefined && (isSecure || this instanceof http.Server)) {
    const [certificate, key] = [this.cert, this.key].map(content => filesByContent.get(String(content)));
    listens.push({ port, name: nameListen(port), host, https: isSecure ? { certificate, key } : undefined, at: callSite(), server: this, leads: new Set() });
  }
  const callback = args.find(argument => typeof argument === 'function');
  this.address = () => ({ port, address: host ?? '::', family: 'IPv6' });
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
for (const name of ['spawnSync', 'execSync', 'execFileSync']) refuseLater(childProcess, name, 'starts programs');
// Datagrams are dropped without an exception, because apps don't expect one and the rest of the file must be read.
for (const name of ['send', 'connect']) {
  refuseLater(dgram.Socket.prototype, name, 'connects to other servers', (error, callback) => {
    if (typeof callback === 'function') process.nextTick(callback, error);
  });
}
// Files keep their content, without an error, for the same reason.
for (const name of ['writeFile', 'appendFile', 'truncate', 'copyFile', 'cp', 'rename', 'mkdir', 'rm', 'rmdir', 'unlink', 'link', 'symlink']) {
  refuseLater(fs, `${name}Sync`, 'writes files', () => {});
  refuseLater(fs, name, 'writes files', (error, callback) => process.nextTick(callback, null));
  refuseLater(fs.promises, name, 'writes files', async () => {});
}
for (const [owner, name] of [[fs, 'open'], [fs, 'openSync'], [fs.promises, 'open']]) {
  const open = owner[name];
  owner[name] = function (file, flags, ...rest) {
    const writes = isRefused() && (typeof flags === 'number' ? (flags & 3) !== 0 : /[wa+]/.test(typeof flags === 'string' ? flags : ''));
    if (writes) noteOnce('writes files');
    return writes ? open.call(this, devNull, 'r+', ...rest) : open.call(this, file, flags, ...rest);
  };
}
refuseLater(fs, 'createWriteStream', 'writes files', () => new Writable({ write: (chunk, encoding, written) => written() }));

const { Worker } = threads;
const running = new Set();
/** Threads have the memory limit of the process. Once the server is created, they stop, and new ones run no code. */
threads.Worker = class extends Worker {
  constructor(file, options) {
    super(...isRefused() ? ['setInterval(() => {}, 1e9)', { eval: true }] : [file, { ...options, resourceLimits: undefined }]);
    if (isRefused()) noteOnce('starts threads');
    else running.add(this);
  }
};
syncBuiltinESMExports();

observe({
  server: entry => {
    quietSince = performance.now();
    for (const thread of running) thread.removeAllListeners('exit').terminate();
    ask(entry);
    return Promise.resolve();
  },
  reached: (entry, { app }) => {
    probing.getStore()?.leads.add(entry);
    entry.app ??= app;
  },
  noted,
});
process.on('unhandledRejection', error => noted({ what: 'rejection', text: String(error?.stack ?? error) }));
process.on('uncaughtException', error => isProbing || finish(error));
process.on('exit', () => finish());

try {
  const Parse = loadSDK(main, { applicationId: 'unused', serverURL: 'http://127.0.0.1/parse' });
  // Functions that only the server's SDK has are ignored here. They work in the app's real run.
  Parse.Cloud = new Proxy(Parse.Cloud, { get: (cloud, name) => (name in cloud ? cloud[name] : () => {}) });
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
  if (quiet <= (hasServer && listens.length > 0 ? 150 : hasServer ? 1000 : 20_000)) return;
  if (isProbing || !probe()) finish();
}, 25);

/** Sends the app's HTTP servers a request for each ParseServer, unless it is known which one leads to it. */
function probe() {
  if (listens.length < (servers.every(({ server }) => server.parent) ? 2 : 1)) return false;
  isProbing = true;
  quietSince = performance.now();
  for (const [listen, entry] of listens.flatMap(listen => servers.map(entry => [listen, entry]))) {
    const { mountPath: own, serverURL = '' } = entry.options;
    const url = mountPath(entry) ?? own ?? (String(serverURL).replace(/^\w+:\/\/[^/]*/, '') || '/parse');
    const request = new http.IncomingMessage(Object.assign(new net.Socket(), { encrypted: listen.https !== undefined }));
    Object.assign(request, { method: 'GET', url, headers: { host: 'localhost' } }).push(null);
    try {
      probing.run(listen, () => listen.server.emit('request', request, new http.ServerResponse(request)));
    } catch {
      // The app's middleware can't handle the request.
    }
  }
  return true;
}

/** Returns the settings of the application that mounts a ParseServer, and the index of its HTTP server, preferably HTTPS. */
function outside(entry) {
  let app = entry.server.parent;
  while (app?.parent) app = app.parent;
  const leading = listens.filter(({ leads, server }) => leads.has(entry) || (app && server.listeners('request').includes(app)));
  const index = listens.indexOf(leading.find(({ https }) => https) ?? leading[0]);
  // An application inherits the setting of the one that mounts it.
  const trust = (entry.server.parent ?? entry.app)?.get?.('trust proxy') || undefined;
  return {
    listen: index < 0 && listens.length > 1 && entry.port === undefined ? undefined : Math.max(index, 0),
    trustProxy: typeof trust === 'function' ? 'function' : trust,
  };
}

function finish(error) {
  if (finish.isOver) return;
  finish.isOver = true;
  if (!isProbing) probe();
  const record = {
    servers: servers.map(entry => ({ at: entry.at, mountPath: mountPath(entry), port: entry.port, ...outside(entry), asked: entry.asked,
      ...plain({ ...entry.options, ...entry.values }) })),
    listens: listens.map(({ server, leads, ...listen }) => listen), notes, version: version(), error: error && String(error.stack ?? error),
  };
  writeFileSync(target, JSON.stringify(record));
  process.kill(process.pid, 'SIGKILL');
}

/** Returns the app's version of parse-server: the installed one, or the one required in package.json. */
function version() {
  for (let folder = main; folder !== path.dirname(folder);) {
    folder = path.dirname(folder);
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
  }
}
