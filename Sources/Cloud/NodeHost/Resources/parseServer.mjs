// A stand-in for the package parse-server: an app's own index.js makes its server by it, and Roost is that server.

import Module from 'node:module';
import path from 'node:path';
import { callSite } from './callSites.mjs';

/** The servers that the app made, the oldest first. */
export const servers = [];

const observers = {};

/** Has functions called: `server` for each new server, `noted` for what else the app does with the package. */
export function observe(functions) {
  Object.assign(observers, functions);
}

const note = (what, details) => observers.noted?.({ what, at: callSite(), ...details });

/** The values of adapters that the app made, by the objects that stand for them. */
export const adapters = new WeakMap();

/** A class or factory of adapters, called with or without `new`: its objects say which module they are of. */
export function adapterOf(module) {
  return function Adapter(...args) {
    const adapter = Object.create(Adapter.prototype);
    adapters.set(adapter, { module, options: optionsOf(module, args) });
    return adapter;
  };
}

// Adapters of files take (options), (bucket, options) or (key, secret, bucket, options).
function optionsOf(module, args) {
  const names = { '@parse/s3-files-adapter': ['accessKey', 'secretKey'], '@parse/gcs-files-adapter': ['projectId', 'keyFilename'] }[module];
  if (names === undefined || typeof args[0] !== 'string') return args[0] ?? {};
  const texts = args.filter(argument => typeof argument === 'string');
  const options = args.find(argument => typeof argument === 'object') ?? {};
  if (texts.length < 3) return { bucket: texts[0], ...options };
  return { [names[0]]: texts[0], [names[1]]: texts[1], bucket: texts[2], ...options };
}

/** Makes a server, with or without `new`: a middleware that Express mounts like an application. */
export function ParseServer(options) {
  const server = Object.setPrototypeOf((request, response, next) => next(), ParseServer.prototype);
  const entry = { options: options ?? {}, server, at: callSite(), port: undefined, path: undefined, ready: undefined };
  Object.defineProperties(server, {
    entry: { value: entry }, app: { value: server }, expressApp: { get: () => ownRoutes(entry), configurable: true },
    config: { value: entry.options }, options: { value: entry.options },
  });
  servers.push(entry);
  entry.ready = observers.server?.(entry);
  // Whoever starts the server waits for it; a failure is reported in any case.
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
  // What Express calls of an application that is mounted below another.
  handle: (request, response, next) => next(),
  set() {
    return this;
  },
  emit() {},
});

/** The Express application around a server that `startApp` started. It listens as soon as the app asks for it. */
function ownRoutes(entry) {
  if (entry.port === undefined) return entry.server;
  const express = loadExpress()();
  Object.defineProperty(entry.server, 'expressApp', { value: express });
  express.use(entry.path, entry.server);
  express.listen(entry.port, ...[entry.options.host].filter(Boolean));
  return express;
}

function loadExpress() {
  // The package is often there as one of parse-server's own.
  const folder = path.dirname(process.argv[1]);
  const { resolve } = Module.createRequire(process.argv[1]);
  let file;
  try {
    file = resolve('express', { paths: [folder, path.join(folder, 'node_modules/parse-server')] });
  } catch (error) {
    throw new Error('server.expressApp needs the package express: npm install express', { cause: error });
  }
  return Module.createRequire(file)(file);
}

// ParseServer's own application is below the mount path, where nothing of the app is reachable.
for (const name of ['all', 'delete', 'get', 'head', 'param', 'patch', 'post', 'put', 'route', 'use']) {
  ParseServer.prototype[name] = function (...args) {
    // `get` with a name alone reads a setting.
    if (name === 'get' && args.length === 1) return undefined;
    if (!observers.noted) throw new Error(`server.app.${name}: the application of ParseServer takes no routes in Roost.`);
    note('ownApplication', { name });
    return this;
  };
}

/** Where the app mounted a server; undefined if it did not. */
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
// `require('parse-server')` is the class as well, and the package's default is.
Object.assign(ParseServer, parts, { default: ParseServer });
export default ParseServer;

/** A stand-in for the package parse-dashboard: it leads to Roost's console. */
export function ParseDashboard() {
  note('dashboard');
  return (request, response) => response.writeHead(302, { Location: '/console' }).end();
}
