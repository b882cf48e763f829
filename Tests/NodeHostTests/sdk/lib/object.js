// Objects: stored values and pending operations.
'use strict';

const core = require('./core.js');
const { encode, decode } = require('./encoding.js');
const { ACL } = require('./values.js');
const operations = require('./operations.js');

const classes = new Map();
const text = value => JSON.stringify(encode(value, false, true));

class ParseObject {
  #server = {};
  #pending = {};
  #seen = {};
  #isStored = false;

  constructor(className, attributes) {
    this.className = typeof className === 'string' ? className : className?.className ?? this.constructor.className;
    const values = typeof className === 'object' ? className : attributes;
    if (values) this.set(values);
  }

  static extend(className, methods = {}) {
    const extended = class extends (classes.get(className) ?? ParseObject) {
      constructor(attributes) { super(className, attributes); }
    };
    extended.className = className;
    Object.assign(extended.prototype, methods);
    classes.set(className, extended);
    return extended;
  }

  static registerSubclass(className, constructor) {
    constructor.className = className;
    classes.set(className, constructor);
  }

  static createWithoutData(id) {
    const object = new this();
    object.id = id;
    return object;
  }

  static fromJSON(json) {
    const constructor = classes.get(json.className);
    const object = constructor ? new constructor() : new ParseObject(json.className);
    object.className = json.className;
    const { className, __type, ...attributes } = json;
    if (attributes.objectId) object.id = attributes.objectId;
    object._finishFetch(attributes);
    if (json.objectId) object._setExisted(true);
    return object;
  }

  _finishFetch(json) {
    this.#pending = {};
    this.#server = {};
    for (const [key, value] of Object.entries(json)) {
      if (key === 'objectId') this.id = value;
      else if (key === 'ACL') this.#server.ACL = new ACL(value);
      else if (key === 'createdAt' || key === 'updatedAt') this.#server[key] = new Date(value?.iso ?? value);
      else this.#server[key] = decode(value);
    }
    this.#remember();
  }

  // Copies of arrays and objects, to detect changes in place.
  #remember() {
    this.#seen = {};
    for (const [key, value] of Object.entries(this.#server)) {
      if (value !== null && typeof value === 'object' && !(value instanceof ParseObject) && !(value instanceof Relation)) {
        this.#seen[key] = text(value);
      }
    }
  }

  get attributes() {
    const all = { ...this.#server };
    for (const [key, operation] of Object.entries(this.#pending)) {
      const value = operation.applyTo(all[key]);
      if (value === undefined) delete all[key];
      else all[key] = value;
    }
    return all;
  }

  get createdAt() { return this.#server.createdAt; }
  get updatedAt() { return this.#server.updatedAt; }

  get(key) {
    const value = this.attributes[key];
    return value instanceof Relation ? value.of(this, key) : value;
  }

  has(key) { return this.get(key) !== undefined && this.get(key) !== null; }
  getACL() { return this.get('ACL') ?? null; }
  setACL(acl) { return this.set('ACL', acl); }
  isNew() { return !this.id || !this.#isStored; }
  existed() { return this.#isStored; }
  _setExisted(value) { this.#isStored = value; }
  _getServerData() { return this.#server; }

  relation(key) {
    const value = this.get(key);
    return value instanceof Relation ? value : new Relation(this, key);
  }

  set(first, second) {
    const values = typeof first === 'string' ? { [first]: second } : first;
    for (const [key, value] of Object.entries(values)) {
      if (key === 'objectId' || key === 'id') this.id = value;
      else if (key === 'createdAt' || key === 'updatedAt') continue;
      else this._do(key, this.#operation(key, value));
    }
    return this;
  }

  #operation(key, value) {
    if (value instanceof operations.Operation) return value;
    if (typeof value?.__op === 'string') return operations.fromJSON(value);
    if (key === 'ACL' && !(value instanceof ACL)) return new operations.Set(new ACL(value));
    return new operations.Set(value);
  }

  _do(key, operation) {
    this.#pending[key] = operation.mergeWith(this.#pending[key]);
  }

  unset(key) { this._do(key, new operations.Unset()); return this; }
  increment(key, amount = 1) { this._do(key, new operations.Increment(amount)); return this; }
  add(key, element) { this._do(key, new operations.Add([element])); return this; }
  addUnique(key, element) { this._do(key, new operations.AddUnique([element])); return this; }
  remove(key, element) { this._do(key, new operations.Remove([element])); return this; }

  revert(...keys) {
    for (const key of keys.length ? keys : Object.keys(this.#pending)) delete this.#pending[key];
  }

  #changedInPlace() {
    return Object.keys(this.#seen).filter(key => !this.#pending[key] && text(this.#server[key]) !== this.#seen[key]);
  }

  dirtyKeys() { return [...Object.keys(this.#pending), ...this.#changedInPlace()]; }

  dirty(key) {
    if (key !== undefined) return this.dirtyKeys().includes(key);
    return !this.id || this.dirtyKeys().length > 0;
  }

  _getSaveJSON() {
    const json = {};
    for (const key of this.#changedInPlace()) json[key] = encode(this.#server[key], false, true);
    for (const [key, operation] of Object.entries(this.#pending)) json[key] = operation.toJSON();
    return json;
  }

  toPointer() {
    if (!this.id) throw new Error('Cannot create a pointer to an unsaved ParseObject');
    return { __type: 'Pointer', className: this.className, objectId: this.id };
  }

  toJSON(seen = [this]) {
    const json = {};
    for (const [key, value] of Object.entries(this.attributes)) {
      json[key] = key === 'createdAt' || key === 'updatedAt' ? value.toJSON() : encode(value, false, false, seen);
    }
    for (const [key, operation] of Object.entries(this.#pending)) json[key] = operation.toJSON();
    if (this.id) json.objectId = this.id;
    return json;
  }

  _toFullJSON(seen) {
    return { ...this.toJSON(seen), __type: 'Object', className: this.className };
  }

  equals(other) {
    return other instanceof ParseObject && other.className === this.className && other.id === this.id && !!this.id;
  }

  _path() { return `classes/${this.className}`; }

  async save(attributes, options = {}) {
    if (attributes) this.set(attributes);
    const [method, path] = this.id ? ['PUT', `${this._path()}/${this.id}`] : ['POST', this._path()];
    const answer = await core.getRESTController().request(method, path, this._getSaveJSON(), { ...options, returnStatus: true });
    const { _status, _headers, ...fields } = answer;
    const stored = this.attributes;
    this.#pending = {};
    for (const [key, value] of Object.entries(stored)) this.#server[key] = value;
    for (const [key, value] of Object.entries(fields)) {
      if (key === 'objectId') this.id = value;
      else if (value?.__op === 'Delete') delete this.#server[key];
      else if (key === 'createdAt' || key === 'updatedAt') this.#server[key] = new Date(value);
      else this.#server[key] = key === 'ACL' ? new ACL(value) : decode(value);
    }
    if (_status === 201 && !this.#server.updatedAt) this.#server.updatedAt = this.#server.createdAt;
    this.#remember();
    this._setExisted(_status !== 201);
    return this;
  }

  async fetch(options = {}) {
    this._finishFetch(await core.getRESTController().request('GET', `${this._path()}/${this.id}`, {}, options));
    return this;
  }

  async destroy(options = {}) {
    await core.getRESTController().request('DELETE', `${this._path()}/${this.id}`, {}, options);
    return this;
  }

  static async saveAll(list, options) {
    for (const object of list) await object.save(null, options ?? {});
    return list;
  }
}

class Relation {
  constructor(parent, key, targetClassName) {
    this.parent = parent;
    this.key = key;
    this.targetClassName = targetClassName;
  }

  of(parent, key) { return new Relation(parent, key, this.targetClassName); }
  #change(operation, targets) {
    const list = Array.isArray(targets) ? targets : [targets];
    this.parent._do(this.key, new operations.RelationChange(operation, list));
  }

  add(targets) { this.#change('AddRelation', targets); }
  remove(targets) { this.#change('RemoveRelation', targets); }
  toJSON() { return { __type: 'Relation', className: this.targetClassName }; }
}

module.exports = { ParseObject, Relation };
