// Stands in for the package express in tests: as much of it as the apps of the tests use, by its conventions.

const http = require('node:http');

function express() {
  const layers = [];
  const app = (request, response) => app.handle(request, response, () => {
    response.statusCode = 404;
    response.end(`Cannot ${request.method} ${request.url}`);
  });
  const isBelow = (path, at) => at === '/' || path === at || path.startsWith(`${at.replace(/\/$/, '')}/`);
  Object.assign(app, {
    mountpath: '/',
    settings: {},
    path: () => (app.parent ? app.parent.path() + app.mountpath : ''),
    set: (name, value) => {
      app.settings[name] = value;
      return app;
    },
    emit() {},
    handle(request, response, done) {
      const [path] = request.url.split('?');
      request.ip = request.socket.remoteAddress;
      request.protocol = request.socket.encrypted ? 'https' : 'http';
      response.send = text => response.end(String(text));
      response.json = value => response.setHeader('Content-Type', 'application/json').end(JSON.stringify(value));
      response.status = code => Object.assign(response, { statusCode: code });
      let index = 0;
      const next = error => {
        if (error) return response.status(500).send(error.message);
        const layer = layers[index++];
        if (layer === undefined) return done();
        const fits = layer.method ? layer.method === request.method && layer.at === path : isBelow(path, layer.at);
        return fits ? layer.handler(request, response, next) : next();
      };
      next();
    },
    use(...args) {
      const at = typeof args[0] === 'function' ? '/' : args.shift();
      for (const handler of args.flat()) {
        if (!handler.handle || !handler.set) {
          layers.push({ at, handler });
          continue;
        }
        handler.mountpath = at;
        handler.parent = app;
        layers.push({ at, handler: (request, response, next) => handler.handle(request, response, next) });
        handler.emit('mount', app);
      }
      return app;
    },
    listen: (...args) => http.createServer(app).listen(...args),
  });
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    app[method.toLowerCase()] = (at, ...handlers) => {
      for (const handler of handlers) layers.push({ at, method, handler });
      return app;
    };
  }
  return app;
}

module.exports = express;
