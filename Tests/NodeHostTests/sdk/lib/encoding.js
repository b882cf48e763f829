// Encodes and decodes values as JSON.
'use strict';

// Required lazily, because these modules require this one.
const objects = () => require('./object.js');
const files = () => require('./file.js');

function encode(value, withoutObjects, asPointers, seen = []) {
  const { ParseObject, Relation } = objects();
  if (value instanceof ParseObject) {
    if (withoutObjects) throw new Error('Parse Objects not allowed here');
    const isEmpty = Object.keys(value._getServerData()).length === 0;
    if (asPointers || seen.includes(value) || value.dirty() || isEmpty) return value.toPointer();
    return value._toFullJSON([...seen, value]);
  }
  if (value instanceof files().ParseFile) {
    if (!value.url()) throw new Error('Tried to encode an unsaved file.');
    return value.toJSON();
  }
  if (value instanceof Date) return { __type: 'Date', iso: value.toJSON() };
  if (value instanceof Relation || typeof value?.toJSON === 'function') return value.toJSON();
  if (value instanceof RegExp) return value.source;
  if (Array.isArray(value)) return value.map(element => encode(element, withoutObjects, asPointers, seen));
  if (value === null || typeof value !== 'object') return value;
  const result = {};
  for (const key in value) result[key] = encode(value[key], withoutObjects, asPointers, seen);
  return result;
}

function decode(value) {
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  if (Array.isArray(value)) return value.map(decode);
  const { GeoPoint } = require('./values.js');
  const { ParseObject, Relation } = objects();
  if (typeof value.__op === 'string') return require('./operations.js').fromJSON(value);
  switch (value.__type) {
    case 'Pointer':
    case 'Object': return ParseObject.fromJSON(value);
    case 'Relation': return new Relation(null, null, value.className);
    case 'Date': return new Date(value.iso);
    case 'File': return files().ParseFile.fromJSON(value);
    case 'GeoPoint': return new GeoPoint(value.latitude, value.longitude);
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const result = {};
  for (const key of Object.keys(value)) result[key] = decode(value[key]);
  return result;
}

module.exports = { encode, decode };
