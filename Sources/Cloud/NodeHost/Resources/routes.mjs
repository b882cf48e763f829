// The options `publicFolder` and `cloudApp`: serves files and an app's own routes for requests that the server doesn't
// handle.

import { AsyncLocalStorage } from 'node:async_hooks';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import path from 'node:path';
import { openPrivately, showClient } from './app.mjs';
import { callSite } from './callSites.mjs';
import { loadModule } from './modules.mjs';
import { publicFiles } from './publicFiles.mjs';

const loading = new AsyncLocalStorage();

export class Routes {
  #file;
  #folder;
  #socket;
  #log;
  #findFile = async () => false;
  #app;

  constructor({ cloudApp, publicFolder, socket }, log) {
    this.#file = cloudApp && path.resolve(cloudApp);
    this.#folder = publicFolder && path.resolve(publicFolder);
    this.#socket = socket;
    this.#log = log;
  }

  /** Creates a global `app` with the app's own Express, like Back4App. Call before cloud code is loaded. */
  offerApp() {
    if (this.#file === undefined) return;
    try {
      globalThis.app = createRequire(this.#file)('express')();
    } catch (error) {
      // The file may export an app that doesn't use Express.
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }

  /** Opens the public folder and loads the app's own routes. Call after cloud code is loaded. */
  async load() {
    if (this.#folder !== undefined) this.#findFile = await publicFiles(this.#folder);
    if (this.#file === undefined) return;
    this.#keepFromListening(http.Server.prototype);
    this.#keepFromListening(https.Server.prototype);
    const loaded = await loading.run(true, () => loadModule(this.#file));
    const candidates = [loaded, loaded?.app, loaded?.default, loaded?.default?.app, globalThis.app];
    this.#app = candidates.find(candidate => typeof candidate === 'function');
    if (this.#app === undefined) {
      throw new Error(`cloudApp: ${this.#file} exports no app. End it with module.exports = app, or install the package express`);
    }
  }

  #keepFromListening(prototype) {
    const log = this.#log;
    const { listen } = prototype;
    prototype.listen = function (...args) {
      if (!loading.getStore()) return listen.apply(this, args);
      log.write('warn', `${callSite()}: listen opens no port: Roost serves the app's routes on its own port.`);
      const callback = args.find(argument => typeof argument === 'function');
      if (callback) this.once('listening', callback);
      setImmediate(() => this.emit('listening'));
      return this;
    };
  }

  /** Serves the routes on the socket. */
  listen(opened) {
    const server = http.createServer((request, response) => this.#answer(request, response));
    openPrivately(server, this.#socket, opened);
  }

  /** Makes an index.js server handle only requests that these routes don't handle. */
  precede(server) {
    const { emit } = server;
    server.emit = (name, ...args) => {
      if (name === 'request') this.#answer(...args, () => emit.call(server, name, ...args));
      return name === 'request' || emit.call(server, name, ...args);
    };
  }

  async #answer(request, response, next) {
    try {
      showClient(request);
      if (await this.#findFile(request, response)) return;
      if (this.#app === undefined) return next ? next() : response.writeHead(404, { 'Content-Type': 'text/plain' }).end('Not found');
      // Without another app, Express itself responds to unknown paths and errors.
      await (next ? this.#app(request, response, error => (error ? this.#fail(error, response) : next())) : this.#app(request, response));
    } catch (error) {
      this.#fail(error, response);
    }
  }

  #fail(error, response) {
    this.#log.write('error', String(error?.stack ?? error));
    if (response.headersSent) response.destroy();
    else response.writeHead(500, { 'Content-Type': 'text/plain' }).end('Internal Server Error');
  }
}
