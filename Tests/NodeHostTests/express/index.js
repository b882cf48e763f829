// A stand-in for the package express with the parts that the tests' apps use.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

const isBelow = (url, at) => at === '/' || url === at || url.startsWith(`${at.replace(/\/$/, '')}/`);

function createRouter() {
  const layers = [];
  const router = (request, response, done) => router.handle(request, response, done);
  return Object.assign(router, {
    handle(request, response, done) {
      let index = 0;
      const next = error => {
        const layer = layers[index++];
        if (layer === undefined) return done(error);
        const { at, method, handler } = layer;
        const url = request.url.split('?')[0];
        if (method ? method !== request.method || at !== url : !isBelow(url, at)) return next(error);
        if ((handler.length === 4) !== (error !== undefined)) return next(error);
        const whole = request.url;
        const follow = failure => {
          request.url = whole;
          next(failure);
        };
        // Handlers see the URL without their mount path.
        if (!method && at !== '/') request.url = whole.slice(at.replace(/\/$/, '').length).replace(/^(?!\/)/, '/');
        try {
          return error === undefined ? handler(request, response, follow) : handler(error, request, response, follow);
        } catch (failure) {
          return follow(failure);
        }
      };
      next();
    },
    use(...args) {
      const at = typeof args[0] === 'function' ? '/' : args.shift();
      for (const handler of args.flat()) {
        // A router, unlike an application, mounts an application like any other handler.
        if (!handler.handle || !handler.set || !router.set) {
          layers.push({ at, handler });
          continue;
        }
        handler.mountpath = at;
        handler.parent = router;
        layers.push({ at, handler: (request, response, next) => handler.handle(request, response, next) });
        handler.emit('mount', router);
      }
      return router;
    },
    add(method, at, handlers) {
      for (const handler of handlers) layers.push({ at, method, handler });
      return router;
    },
    post: (at, ...handlers) => router.add('POST', at, handlers),
    put: (at, ...handlers) => router.add('PUT', at, handlers),
    delete: (at, ...handlers) => router.add('DELETE', at, handlers),
    get: (at, ...handlers) => router.add('GET', at, handlers),
  });
}

function express() {
  const app = createRouter();
  const { handle, get } = app;
  const engines = {};
  return Object.assign(app, {
    mountpath: '/',
    settings: {},
    path: () => (app.parent ? app.parent.path() + app.mountpath : ''),
    set(name, value) {
      app.settings[name] = value;
      return app;
    },
    get: (at, ...handlers) => (handlers.length === 0 ? app.settings[at] : get(at, ...handlers)),
    engine(name, render) {
      engines[name] = render;
      return app;
    },
    emit: (name, parent) => Object.setPrototypeOf(app.settings, parent.settings),
    handle(request, response, done) {
      request.app = app;
      request.ip = request.socket.remoteAddress;
      request.protocol = request.socket.encrypted ? 'https' : 'http';
      response.send = text => response.end(String(text));
      response.json = value => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(value));
      response.status = code => Object.assign(response, { statusCode: code });
      response.redirect = place => response.writeHead(302, { Location: place }).end();
      response.render = (view, data) => {
        const ending = app.settings['view engine'];
        const render = engines[ending] ?? require(require.resolve(ending, { paths: [app.settings.views] })).__express;
        render(path.join(app.settings.views, `${view}.${ending}`), data, (error, text) => {
          response.statusCode = error ? 500 : response.statusCode;
          response.setHeader('Content-Type', 'text/html; charset=utf-8').end(error ? error.message : text);
        });
      };
      handle(request, response, done ?? (error => {
        if (error) return response.status(500).send(error.message);
        return response.status(404).send(`Cannot ${request.method} ${request.url}`);
      }));
    },
    listen: (...args) => http.createServer(app).listen(...args),
  });
}

const parser = (type, parse) => () => (request, response, next) => {
  if (request.body !== undefined || !request.headers['content-type']?.startsWith(type)) return next();
  let text = '';
  request.setEncoding('utf8').on('data', piece => {
    text += piece;
  });
  return request.on('end', () => {
    try {
      request.body = parse(text);
    } catch (error) {
      return next(error);
    }
    return next();
  });
};

exports = module.exports = express;
exports.Router = createRouter;
exports.json = parser('application/json', JSON.parse);
exports.urlencoded = parser('application/x-www-form-urlencoded', text => Object.fromEntries(new URLSearchParams(text)));
exports.static = folder => (request, response, next) => {
  const name = path.posix.normalize(decodeURIComponent(request.url.split('?')[0])).replace(/\/$/, '/index.html');
  fs.readFile(path.join(folder, name), (error, data) => (error ? next() : response.end(data)));
};
