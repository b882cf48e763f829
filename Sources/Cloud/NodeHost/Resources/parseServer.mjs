// A stand-in for the package parse-server. An app's own index.js creates its server with it, and Roost is that server.

import Module from 'node:module';
import path from 'node:path';
import { callSite } from './callSites.mjs';

/** The servers that the app has created, oldest first. */
export const servers = [];

const observers = {};

/**
 * Sets callbacks: `server` for each new server, `reached` for its requests, `noted` for other uses of the package. Also
 * sets `dashboardPath`.
 */
export function observe(functions) {
  Object.assign(observers, functions);
}

const note = (what, details) => observers.noted?.({ what, at: callSite(), ...details });

/** The modules and options of adapters that the app has created, by stand-in object. */
export const adapters = new WeakMap();

/**
 * Returns a class or factory of adapters, which works with and without `new`. Its objects stand for adapters of the
 * module.
 */
export function adapterOf(module) {
  return function Adapter(...args) {
    const adapter = Object.create(Adapter.prototype);
    adapters.set(adapter, { module, options: optionsOf(module, args) });
    return adapter;
  };
}

// File adapters accept (options), (bucket, options) or (key, secret, bucket, options).
function optionsOf(module, args) {
  const names = { '@parse/s3-files-adapter': ['accessKey', 'secretKey'], '@parse/gcs-files-adapter': ['projectId', 'keyFilename'] }[module];
  if (names === undefined || typeof args[0] !== 'string') return args[0] ?? {};
  const texts = args.filter(argument => typeof argument === 'string');
  const options = args.find(argument => typeof argument === 'object') ?? {};
  if (texts.length < 3) return { bucket: texts[0], ...options };
  return { [names[0]]: texts[0], [names[1]]: texts[1], bucket: texts[2], ...options };
}

/** Creates a server, with or without `new`. It is a middleware that Express mounts like an application. */
export function ParseServer(options) {
  const pass = (request, response, next) => (observers.reached ? observers.reached(entry, request) : next());
  const server = Object.setPrototypeOf(pass, ParseServer.prototype);
  const entry = { options: options ?? {}, server, at: callSite(), port: undefined, path: undefined, ready: undefined };
  Object.defineProperties(server, {
    // Express calls `handle` of an application that is mounted in another one.
    entry: { value: entry }, app: { value: server }, handle: { value: pass }, expressApp: { get: () => ownRoutes(entry), configurable: true },
    config: { value: entry.options }, options: { value: entry.options },
  });
  servers.push(entry);
  entry.ready = observers.server?.(entry);
  // Code that starts the server awaits this promise. Failures are reported in any case.
  entry.ready?.catch(() => {});
  return server;
}

Object.setPrototypeOf(ParseServer.prototype, Function.prototype);
Object.assign(ParseServer.prototype, {
  async start() {
    await this.entry.ready;
    return this;
  },
  startApp(options = this.entry.options) {
    this.entry.port = options.port ?? 1337;
    this.entry.path = options.mountPath ?? '/parse';
    if (options.startLiveQueryServer || options.liveQueryServerOptions) note('liveQuery', { options: options.liveQueryServerOptions });
    return this.start();
  },
  async handleShutdown() {},
  // Express calls `set` and `emit` of an application that it mounts.
  set() {
    return this;
  },
  emit() {},
});

/** The Express application around a server started with `startApp`. It listens as soon as the app uses it. */
function ownRoutes(entry) {
  if (entry.port === undefined) return entry.server;
  const express = loadExpress()();
  Object.defineProperty(entry.server, 'expressApp', { value: express });
  express.use(entry.path, entry.server);
  express.listen(entry.port, ...[entry.options.host].filter(Boolean));
  return express;
}

function loadExpress() {
  // The package is often installed only as a dependency of parse-server.
  const folder = path.dirname(process.argv[1]);
  const { resolve } = Module.createRequire(process.argv[1]);
  let file;
  try {
    file = resolve('express', { paths: [folder, path.join(folder, 'node_modules/parse-server')] });
  } catch (error) {
    throw new Error('server.expressApp requires the package express: npm install express', { cause: error });
  }
  return Module.createRequire(file)(file);
}

// ParseServer's own application is mounted at the mount path, where the app's routes can't be reached.
for (const name of ['all', 'delete', 'get', 'head', 'param', 'patch', 'post', 'put', 'route', 'use']) {
  ParseServer.prototype[name] = function (...args) {
    // `get` with only a name reads a setting.
    if (name === 'get' && args.length === 1) return undefined;
    if (!observers.noted) throw new Error(`server.app.${name}: add routes to your own Express application. In Roost, ParseServer's has none.`);
    note('ownApplication', { name });
    return this;
  };
}

/** Returns the path at which the app has mounted a server, or undefined if it hasn't. */
export function mountPath({ server, path }) {
  if (path !== undefined) return path;
  if (server.mountpath === undefined) return undefined;
  const [first] = [server.mountpath].flat();
  return `${server.parent?.path?.() ?? ''}${first}`.replace(/\/+/g, '/').replace(/(.)\/$/, '$1');
}

Object.assign(ParseServer, {
  app: options => new ParseServer(options),
  start: options => new ParseServer(options).start(),
  startApp: options => new ParseServer(options).startApp(options),
  async createLiveQueryServer(server, options) {
    note('liveQuery', { options });
    return {};
  },
  verifyServerUrl: async () => true,
});

export class ParseGraphQLServer {
  constructor() {
    note('graphQL');
  }
  applyGraphQL() {}
  applyPlayground() {}
  createSubscriptions() {}
  async setGraphQLConfig() {}
}

export const S3Adapter = adapterOf('@parse/s3-files-adapter');
export const GCSAdapter = adapterOf('@parse/gcs-files-adapter');
export const FileSystemAdapter = adapterOf('@parse/fs-files-adapter');
export const FSAdapter = FileSystemAdapter;
export const GridFSBucketAdapter = adapterOf('GridFSBucketAdapter');
export const GridStoreAdapter = GridFSBucketAdapter;
export const RedisCacheAdapter = adapterOf('RedisCacheAdapter');
export const InMemoryCacheAdapter = adapterOf('InMemoryCacheAdapter');
export const NullCacheAdapter = adapterOf('NullCacheAdapter');
export const LRUCacheAdapter = adapterOf('LRUCacheAdapter');
export const PushWorker = adapterOf('PushWorker');
export class AuthAdapter {}
export const SchemaMigrations = { makeSchema: (className, schema) => ({ className, ...schema }), CLP: { public: {} } };
export const TestUtils = {};
const levels = ['error', 'warn', 'info', 'verbose', 'debug', 'silly'];
export const logger = Object.fromEntries(levels.map(level => [level, (...args) => (console[level] ?? console.debug)(...args)]));

const parts = {
  ParseServer, ParseGraphQLServer, S3Adapter, GCSAdapter, FileSystemAdapter, FSAdapter, GridFSBucketAdapter, GridStoreAdapter,
  RedisCacheAdapter, InMemoryCacheAdapter, NullCacheAdapter, LRUCacheAdapter, PushWorker, AuthAdapter, SchemaMigrations,
  TestUtils, logger,
};
// Both `require('parse-server')` and the default export are the class.
Object.assign(ParseServer, parts, { default: ParseServer });
Object.defineProperty(ParseServer, 'Parse', { get: () => globalThis.Parse });
export default ParseServer;

/** A stand-in for the package parse-dashboard that redirects to Roost's console. */
export function ParseDashboard() {
  note('dashboard');
  return (request, response) => response.writeHead(302, { Location: observers.dashboardPath ?? '/console' }).end();
}
