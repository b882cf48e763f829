// Converts between objects of the SDK and the server's JSON.

/** Creates an object of the SDK without pending changes. */
export function stored(json, className = json.className) {
  return Parse.Object.fromJSON({ ...json, className });
}

/** Creates the user of a request. */
export function userOf(json) {
  return json === undefined || json === null ? undefined : stored(json, '_User');
}

/** Creates the object of a beforeSave trigger: the stored object with the client's changes as pending operations. */
export function pending(call) {
  const { object, original, changes = {} } = call.request;
  const className = object.className;
  const server = original === undefined || original === null ? { className } : { ...original, className };
  const sent = { ...changes };
  const constructor = Parse.Object.fromJSON({ className }).constructor;
  for (const name of constructor.readOnlyAttributes?.() ?? []) {
    if (!original && Object.hasOwn(sent, name)) server[name] = sent[name];
    delete sent[name];
  }
  const result = Parse.Object.fromJSON(server);
  for (const key of Object.keys(sent)) {
    if (!key.includes('.') || typeof sent[key]?.__op === 'string') continue;
    const [parent, ...rest] = key.split('.');
    sent[parent] = withMember(ownMember(sent, parent) ?? ownMember(original, parent), rest, sent[key]);
    delete sent[key];
  }
  result.set(Parse._decode(undefined, sent), { ignoreValidation: true });
  return result;
}

/** Returns an own property of an object. Ignores inherited ones, because a field may be named `toString`. */
export function ownMember(object, name) {
  return object !== undefined && object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Returns a copy of a value with a member replaced at any depth. */
function withMember(value, [name, ...rest], member) {
  const copy = value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
  // Defined instead of assigned, because a member may be named __proto__.
  Object.defineProperty(copy, name, {
    value: rest.length === 0 ? member : withMember(ownMember(copy, name), rest, member),
    enumerable: true, configurable: true, writable: true,
  });
  return copy;
}

/**
 * Compares the operations of an object before and after a beforeSave trigger. Returns the operations that code has
 * added, and the client's fields that must not be written.
 */
export function difference(before, after, changes = {}) {
  const operations = {};
  const reverted = [];
  for (const [key, operation] of Object.entries(after)) {
    if (Object.hasOwn(before, key) && JSON.stringify(before[key]) === JSON.stringify(operation)) continue;
    operations[key] = operation;
    for (const sent of Object.keys(changes)) if (sent.startsWith(`${key}.`)) reverted.push(sent);
  }
  for (const key of Object.keys(before)) {
    if (Object.hasOwn(after, key)) continue;
    for (const sent of Object.keys(changes)) {
      if (sent === key || sent.startsWith(`${key}.`)) reverted.push(sent);
    }
  }
  return { operations, reverted };
}

/** Returns the members of JSON that have changed. */
export function changedMembers(before, after) {
  return Object.fromEntries(Object.entries(after).filter(
    ([key, value]) => !Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(value)));
}

/** Decodes the parameters of a function. Dates become `Date`s; files and, if requested, pointers become SDK objects. */
export function decodeParams(params, withPointers) {
  const result = {};
  for (const [key, member] of Object.entries(params)) {
    Object.defineProperty(result, key, {
      value: decodeParam(member, withPointers), enumerable: true, configurable: true, writable: true,
    });
  }
  return result;
}

function decodeParam(value, withPointers) {
  if (Array.isArray(value)) return value.map(element => decodeParam(element, withPointers));
  if (value === null || typeof value !== 'object') return value;
  switch (value.__type) {
    case 'Date': return new Date(value.iso);
    case 'File': return Parse.File.fromJSON(value);
    case 'Pointer':
      if (withPointers && typeof value.className === 'string') {
        return Parse.Object.fromJSON({ __type: 'Pointer', className: value.className, objectId: value.objectId });
      }
  }
  return decodeParams(value, withPointers);
}

/** Creates a query of the SDK. */
export function queryOf(className, json) {
  const query = new Parse.Query(className);
  if (typeof query.withJSON === 'function') return query.withJSON(json);
  // Older SDKs don't have this method.
  query._where = json.where ?? {};
  if (json.include) query._include = json.include.split(',');
  if (json.keys) query._select = json.keys.split(',');
  if (json.order) query._order = json.order.split(',');
  query._limit = json.limit ?? -1;
  query._skip = json.skip ?? 0;
  return query;
}

/** Encodes an element of a find trigger's result: a complete object of the SDK, or any other value. */
export function foundJSON(element) {
  if (!(element instanceof Parse.Object)) return Parse._encode(element);
  return { ...plainJSON(element), __type: 'Object', className: element.className };
}

/** Returns the fields of an object with their new values. The SDK's own JSON contains operations for changed fields. */
export function plainJSON(object) {
  const json = object.toJSON();
  for (const key of object.dirtyKeys()) {
    const value = object.get(key);
    if (value === undefined) delete json[key];
    else json[key] = Parse._encode(value);
  }
  return json;
}

/** Creates the config object of a request. */
export function configOf(json) {
  const config = new Parse.Config();
  config.attributes = Parse._decode(undefined, json.params ?? {});
  return config;
}
