// Objects of the SDK from what the server sends, and back.

/** An object of the SDK as it is stored. */
export function stored(json, className = json.className) {
  return Parse.Object.fromJSON({ ...json, className });
}

/** The user of a request. */
export function userOf(json) {
  return json === undefined || json === null ? undefined : stored(json, '_User');
}

/** An object that is about to be saved: what is stored, and what the client sent as pending operations. */
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

/** What an object itself has by a name, and not what every object has: there are fields named `toString`. */
export function ownMember(object, name) {
  return object !== undefined && object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** A copy of a value in which a member, however deep, is another one. */
function withMember(value, [name, ...rest], member) {
  const copy = value !== null && typeof value === 'object' && !Array.isArray(value) ? { ...value } : {};
  // Defined, not assigned: a member named __proto__ is a member.
  Object.defineProperty(copy, name, {
    value: rest.length === 0 ? member : withMember(ownMember(copy, name), rest, member),
    enumerable: true, configurable: true, writable: true,
  });
  return copy;
}

/**
 * What code did to an object that is about to be saved, by comparison of its operations before and after: what is done
 * besides what the client sent, and which of the client's fields are not to be written.
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

/** The members of JSON that are others than before. */
export function changedMembers(before, after) {
  return Object.fromEntries(Object.entries(after).filter(
    ([key, value]) => !Object.hasOwn(before, key) || JSON.stringify(before[key]) !== JSON.stringify(value)));
}

/** The parameters of a function as code gets them: dates and files are objects of the SDK, and so are pointers where asked. */
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

/** A query of the SDK. */
export function queryOf(className, json) {
  const query = new Parse.Query(className);
  if (typeof query.withJSON === 'function') return query.withJSON(json);
  // Older SDKs have no such method.
  query._where = json.where ?? {};
  if (json.include) query._include = json.include.split(',');
  if (json.keys) query._select = json.keys.split(',');
  if (json.order) query._order = json.order.split(',');
  query._limit = json.limit ?? -1;
  query._skip = json.skip ?? 0;
  return query;
}

/** An element of what a trigger of a find gives: an object of the SDK with all that it holds, or what it is. */
export function foundJSON(element) {
  if (!(element instanceof Parse.Object)) return Parse._encode(element);
  return { ...plainJSON(element), __type: 'Object', className: element.className };
}

/** The fields of an object as they become. The SDK's own JSON has operations where fields are to change. */
export function plainJSON(object) {
  const json = object.toJSON();
  for (const key of object.dirtyKeys()) {
    const value = object.get(key);
    if (value === undefined) delete json[key];
    else json[key] = Parse._encode(value);
  }
  return json;
}

/** The config of a request. */
export function configOf(json) {
  const config = new Parse.Config();
  config.attributes = Parse._decode(undefined, json.params ?? {});
  return config;
}
