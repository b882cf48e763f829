// A stand-in for `parse/node` 1.x: the current stand-in with its promises and callbacks.
'use strict';

const Parse = require('../node.js');
const { ParsePromise } = require('./promise.js');

const request = (...args) => Parse.CoreManager.getRESTController().request(...args);
const keys = ({ useMasterKey, sessionToken, installationId } = {}) => ({ useMasterKey, sessionToken, installationId });

const methods = {
  save(attributes, options) {
    if (attributes) this.set(attributes);
    const [method, path] = this.id ? ['PUT', `${this._path()}/${this.id}`] : ['POST', this._path()];
    return request(method, path, this._getSaveJSON(), keys(options)).then((answer, status) => {
      this._finishFetch({ ...this.toJSON(), ...answer });
      this._setExisted(status !== 201);
      return this;
    })._thenRunCallbacks(options, this);
  },

  destroy(options) {
    return request('DELETE', `${this._path()}/${this.id}`, {}, keys(options)).then(() => this)._thenRunCallbacks(options, this);
  },
};

class LegacyQuery extends Parse.Query {
  #ask(extra, options) { return request('GET', `classes/${this.className}`, { ...this.toJSON(), ...extra }, keys(options)); }
  #object(json) { return Parse.Object.fromJSON({ ...json, className: this.className }); }

  find(options) {
    return this.#ask({}, options).then(({ results }) => results.map(json => this.#object(json)))._thenRunCallbacks(options);
  }

  first(options) {
    return this.#ask({ limit: 1 }, options).then(({ results }) => results[0] && this.#object(results[0]))
      ._thenRunCallbacks(options);
  }

  count(options) {
    return this.#ask({ limit: 0, count: 1 }, options).then(({ count }) => count)._thenRunCallbacks(options);
  }
}
LegacyQuery.prototype.withJSON = undefined;

Object.assign(Parse.Object.prototype, methods);
Object.assign(Parse, { Promise: ParsePromise, Query: LegacyQuery });

module.exports = Parse;
