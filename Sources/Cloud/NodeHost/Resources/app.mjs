// Runs an app's own index.js: Roost is the server that it makes, and the app serves its other routes on a Unix socket.

import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { callSite } from './callSites.mjs';
import { adaptRequire, loadMain } from './modules.mjs';
import { observe, servers } from './parseServer.mjs';
import { installStandIns } from './standIns.mjs';

// An app that first waits for the server's port is not waited for.
const longestWait = 10_000;

/**
 * Loads the app, its cloud code included.
 *
 * @param settings `server`: which of the servers that the app makes is this one; `socket`: where it listens; `listens`:
 *   whether it does.
 * @param made Called with the options of the server; it is waited for.
 * @param opened Called when the app listens.
 * @param routes What comes before the app's own routes; undefined for nothing.
 */
export async function runApp(main, { server, socket, listens }, log, made, opened, routes) {
  const listening = new Promise(resolve => takeListen(socket, log, () => resolve(opened()), routes));
  routes?.offerApp();
  const loaded = new Promise((resolve, reject) => {
    observe({
      server: entry => {
        if (servers.indexOf(entry) !== server) return Promise.resolve();
        const ready = Promise.all([loadCloud(entry.options.cloud).then(() => routes?.load()), made(entry.options)]);
        ready.then(resolve, reject);
        return ready;
      },
    });
  });
  installStandIns();
  await Promise.all([loadMain(main, true), loaded]);
  if (!listens) return routes?.listen(opened);
  let timer;
  const late = new Promise(resolve => {
    timer = setTimeout(resolve, longestWait);
  });
  await Promise.race([listening, late]);
  clearTimeout(timer);
}

async function loadCloud(cloud) {
  if (typeof cloud === 'function') return cloud(globalThis.Parse);
  if (typeof cloud !== 'string' || cloud === '') return undefined;
  const file = path.resolve(cloud);
  adaptRequire(file);
  return loadMain(file);
}

/** Has the app's HTTP server listen on the socket, in place of the port that Roost listens on. */
function takeListen(socket, log, opened, routes) {
  let isTaken = false;
  const { listen } = net.Server.prototype;
  http.Server.prototype.listen = function (...args) {
    const [first] = args;
    if ((typeof first === 'string' && !/^\d+$/.test(first)) || first?.path !== undefined) return listen.apply(this, args);
    const port = Number(first?.port ?? (typeof first === 'object' ? 0 : first)) || 0;
    this.address = () => ({ address: '::', family: 'IPv6', port });
    const callback = args.find(argument => typeof argument === 'function');
    if (callback) this.once('listening', callback);
    if (isTaken) {
      log.write('warn', `${callSite()}: listen(${port}) opens no port: the app's first HTTP server has the routes.`);
      setImmediate(() => this.emit('listening'));
      return this;
    }
    isTaken = true;
    routes?.precede(this);
    return openPrivately(this, socket, opened, listen);
  };
  https.Server.prototype.listen = function (...args) {
    // TLS is Roost's: the app's handlers answer in clear.
    const plain = http.createServer();
    for (const listener of this.listeners('request')) plain.on('request', listener);
    plain.once('listening', () => this.emit('listening'));
    plain.listen(...args);
    this.address = () => plain.address();
    return this;
  };
}

let listening;

/** Waits until no request of the app's routes is open. */
export async function drainRoutes() {
  const open = () => new Promise(resolve => listening.getConnections((error, count) => resolve(count)));
  do await new Promise(resolve => setTimeout(resolve, 50)); while (listening && await open() > 0);
}

/** Has an HTTP server listen on a socket that no other user can connect to. */
export function openPrivately(server, socket, opened, listen = server.listen) {
  listening = server;
  // Roost closes connections, and requests that last too long.
  Object.assign(server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0, timeout: 0 });
  server.prependListener('request', showClient);
  server.once('listening', opened);
  const mask = process.umask(0o177);
  try {
    return listen.call(server, socket);
  } finally {
    process.umask(mask);
  }
}

/** Gives a request the address and the protocol of its client, as a connection of its own would have them. */
export function showClient({ headers, socket }) {
  const define = (name, value) => Object.defineProperty(socket, name, { value, configurable: true, writable: true });
  define('remoteAddress', headers['x-forwarded-for']);
  define('encrypted', headers['x-forwarded-proto'] === 'https');
}
