// Errors, points and ACLs.
'use strict';

class ParseError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
    Object.defineProperty(this, 'message', { enumerable: true, value: message });
  }

  toString() {
    return `ParseError: ${this.code} ${this.message}`;
  }
}

Object.assign(ParseError, {
  INTERNAL_SERVER_ERROR: 1, CONNECTION_FAILED: 100, OBJECT_NOT_FOUND: 101, INVALID_QUERY: 102, INVALID_CLASS_NAME: 103,
  MISSING_OBJECT_ID: 104, INVALID_KEY_NAME: 105, INVALID_POINTER: 106, INVALID_JSON: 107, INCORRECT_TYPE: 111,
  OPERATION_FORBIDDEN: 119, TIMEOUT: 124, FILE_SAVE_ERROR: 130, DUPLICATE_VALUE: 137, SCRIPT_FAILED: 141,
  VALIDATION_ERROR: 142, FILE_DELETE_ERROR: 153, INVALID_SESSION_TOKEN: 209, OTHER_CAUSE: -1,
});

class GeoPoint {
  constructor(latitude, longitude) {
    this.latitude = latitude;
    this.longitude = longitude;
  }

  toJSON() {
    return { __type: 'GeoPoint', latitude: this.latitude, longitude: this.longitude };
  }
}

class ACL {
  constructor(value) {
    this.permissionsById = {};
    if (typeof value === 'object' && value !== null) {
      if (typeof value.id === 'string') {
        this.setReadAccess(value.id, true);
        this.setWriteAccess(value.id, true);
      } else {
        this.permissionsById = JSON.parse(JSON.stringify(value));
      }
    }
  }

  #set(kind, who, allowed) {
    const id = who?.id ?? who;
    const permissions = { ...this.permissionsById[id] };
    if (allowed) permissions[kind] = true;
    else delete permissions[kind];
    this.permissionsById[id] = permissions;
  }

  setReadAccess(who, allowed) { this.#set('read', who, allowed); }
  setWriteAccess(who, allowed) { this.#set('write', who, allowed); }
  setPublicReadAccess(allowed) { this.#set('read', '*', allowed); }
  setPublicWriteAccess(allowed) { this.#set('write', '*', allowed); }
  setRoleReadAccess(role, allowed) { this.#set('read', `role:${role}`, allowed); }
  getReadAccess(who) { return this.permissionsById[who?.id ?? who]?.read ?? false; }
  toJSON() { return this.permissionsById; }
}

module.exports = { ParseError, GeoPoint, ACL };
