// Queries.
'use strict';

const core = require('./core.js');
const { encode } = require('./encoding.js');
const { ParseError } = require('./values.js');
const { ParseObject } = require('./object.js');

const lists = { include: '_include', keys: '_select', excludeKeys: '_exclude' };
const others = {
  readPreference: '_readPreference', includeReadPreference: '_includeReadPreference',
  subqueryReadPreference: '_subqueryReadPreference', hint: '_hint', explain: '_explain', comment: '_comment',
};

class Query {
  constructor(parseClass) {
    this.className = typeof parseClass === 'string' ? parseClass : parseClass.className;
    this._where = {};
    this._include = [];
    this._limit = -1;
    this._skip = 0;
    this._count = false;
  }

  withJSON(json) {
    if (json.where) this._where = json.where;
    for (const [name, member] of Object.entries(lists)) if (json[name]) this[member] = json[name].split(',');
    for (const [name, member] of Object.entries(others)) if (json[name] !== undefined) this[member] = json[name];
    if (json.count) this._count = json.count === 1;
    if (json.limit !== undefined) this._limit = json.limit;
    if (json.skip !== undefined) this._skip = json.skip;
    if (json.order) this._order = json.order.split(',');
    return this;
  }

  toJSON() {
    const json = { where: this._where };
    for (const [name, member] of Object.entries(lists)) if (this[member]?.length) json[name] = this[member].join(',');
    for (const [name, member] of Object.entries(others)) if (this[member] !== undefined) json[name] = this[member];
    if (this._count) json.count = 1;
    if (this._limit >= 0) json.limit = this._limit;
    if (this._skip > 0) json.skip = this._skip;
    if (this._order) json.order = this._order.join(',');
    return json;
  }

  equalTo(key, value) { this._where[key] = encode(value, false, true); return this; }
  #condition(key, name, value) {
    this._where[key] = { ...this._where[key], [name]: encode(value, false, true) };
    return this;
  }
  notEqualTo(key, value) { return this.#condition(key, '$ne', value); }
  greaterThan(key, value) { return this.#condition(key, '$gt', value); }
  lessThan(key, value) { return this.#condition(key, '$lt', value); }
  containedIn(key, values) { return this.#condition(key, '$in', values); }
  exists(key) { return this.#condition(key, '$exists', true); }
  include(...keys) { this._include.push(...keys.flat()); return this; }
  select(...keys) { this._select = keys.flat(); return this; }
  exclude(...keys) { this._exclude = keys.flat(); return this; }
  limit(count) { this._limit = count; return this; }
  skip(count) { this._skip = count; return this; }
  ascending(...keys) { this._order = keys.flat(); return this; }
  descending(...keys) { this._order = keys.flat().map(key => `-${key}`); return this; }

  #request(extra, options) {
    const path = this.className === '_User' ? 'users' : `classes/${this.className}`;
    return core.getRESTController().request('GET', path, { ...this.toJSON(), ...extra }, options ?? {});
  }

  async find(options) {
    const { results } = await this.#request({}, options);
    return results.map(json => ParseObject.fromJSON({ ...json, className: json.className ?? this.className }));
  }

  async first(options) {
    const { results } = await this.#request({ limit: 1 }, options);
    return results.length ? ParseObject.fromJSON({ ...results[0], className: this.className }) : undefined;
  }

  async get(id, options) {
    const object = await this.equalTo('objectId', id).first(options);
    if (!object) throw new ParseError(ParseError.OBJECT_NOT_FOUND, 'Object not found.');
    return object;
  }

  async count(options) {
    return (await this.#request({ limit: 0, count: 1 }, options)).count;
  }
}

module.exports = { Query };
