// Runs an app's own index.js. Roost replaces the server that it creates, and its other routes are served on a Unix socket.

import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import path from 'node:path';
import { callSite } from './callSites.mjs';
import { adaptRequire, loadMain } from './modules.mjs';
import { observe, servers } from './parseServer.mjs';
import { installStandIns } from './standIns.mjs';

// An app that waits for the server's port before it listens would otherwise block the start.
const longestWait = 10_000;

/**
 * Loads the app, including its cloud code.
 *
 * @param settings `server`: the index of this server among those that the app creates; `socket`: the path of the
 *   socket; `listens`: whether the app listens; `listen`: the name of the call that is served, by default the first one;
 *   `dashboardPath`: the path of Roost's console.
 * @param made Called with the options of the server, and awaited.
 * @param opened Called when the app listens.
 * @param routes The routes that precede the app's own, or undefined.
 */
export async function runApp(main, { server, socket, listens, listen, dashboardPath }, log, made, opened, routes) {
  const listening = new Promise(resolve => takeListen(socket, listen, log, () => resolve(opened()), routes));
  routes?.offerApp();
  const loaded = new Promise((resolve, reject) => {
    observe({
      dashboardPath,
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
  await Promise.race([listening, new Promise(resolve => setTimeout(resolve, longestWait).unref())]);
}

async function loadCloud(cloud) {
  if (typeof cloud === 'function') return cloud(globalThis.Parse);
  if (typeof cloud !== 'string' || cloud === '') return undefined;
  const file = path.resolve(cloud);
  adaptRequire(file);
  return loadMain(file);
}

/** Returns the port of a call of `listen`, or undefined if it is for a socket. */
export function portOf([first]) {
  if ((typeof first === 'string' && !/^\d+$/.test(first)) || first?.path !== undefined) return undefined;
  return Number(first?.port ?? (typeof first === 'object' ? 0 : first)) || 0;
}

const counts = {};

/**
 * Names a call of `listen` by its place in the app, its port, and its number among the calls with the same place and
 * port. The order of calls at different places may differ between runs.
 */
export function nameListen(port) {
  const name = `${callSite(true)} ${port}`;
  counts[name] = (counts[name] ?? 0) + 1;
  return `${name}/${counts[name]}`;
}

/** Makes the app's HTTP server listen on the socket instead of the port, which belongs to Roost. */
function takeListen(socket, wanted, log, opened, routes) {
  let isTaken = false;
  const { listen } = net.Server.prototype;
  http.Server.prototype.listen = function (...args) {
    const port = portOf(args);
    if (port === undefined) return listen.apply(this, args);
    const name = nameListen(port);
    this.address = () => ({ address: '::', family: 'IPv6', port });
    const callback = args.find(argument => typeof argument === 'function');
    if (callback) this.once('listening', callback);
    if (isTaken || (wanted !== undefined && name !== wanted)) {
      log.write('warn', `${callSite()}: listen(${port}) opens no port: only one HTTP server of the app is served.`);
      setImmediate(() => this.emit('listening'));
      return this;
    }
    isTaken = true;
    routes?.precede(this);
    return openPrivately(this, socket, opened, listen);
  };
  https.Server.prototype.listen = function (...args) {
    // Roost terminates TLS, so the app's handlers respond over plain HTTP.
    const plain = http.createServer((...request) => this.emit('request', ...request));
    plain.once('listening', () => this.emit('listening'));
    plain.listen(...args);
    this.address = () => plain.address();
    return this;
  };
}

let listening;

/** Waits until the server of the app's routes has no open connections. */
export async function drainRoutes() {
  const open = () => new Promise(resolve => listening.getConnections((error, count) => resolve(count)));
  do await new Promise(resolve => setTimeout(resolve, 50)); while (listening && await open() > 0);
}

/** Makes an HTTP server listen on a socket to which no other user can connect. */
export function openPrivately(server, socket, opened, listen = server.listen) {
  listening = server;
  // Roost enforces the time limits of connections and requests.
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

/** Sets the client's address and protocol on a request, as if the client were connected directly. */
export function showClient({ headers, socket }) {
  const define = (name, value) => Object.defineProperty(socket, name, { value, configurable: true, writable: true });
  define('remoteAddress', headers['x-forwarded-for']);
  define('encrypted', headers['x-forwarded-proto'] === 'https');
}
