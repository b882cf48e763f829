// Classes of the system.
'use strict';

const core = require('./core.js');
const { ParseObject } = require('./object.js');

class User extends ParseObject {
  constructor(attributes) { super('_User', attributes); }
  _path() { return 'users'; }
  getUsername() { return this.get('username'); }
  setPassword(password) { return this.set('password', password); }
  getSessionToken() { return this.get('sessionToken') ?? null; }
  signUp(attributes, options) {
    if (attributes) this.set(attributes);
    return this.save(null, options ?? {});
  }

  static async logIn(username, password, options = {}) {
    const json = await core.getRESTController().request('POST', 'login', { username, password }, options);
    return ParseObject.fromJSON({ ...json, className: '_User' });
  }
}

class Role extends ParseObject {
  constructor(name, acl) {
    super('_Role', typeof name === 'string' ? { name, ACL: acl } : undefined);
  }

  _path() { return 'roles'; }
  getName() { return this.get('name'); }
  getUsers() { return this.relation('users'); }
  getRoles() { return this.relation('roles'); }
}

class Session extends ParseObject {
  constructor(attributes) { super('_Session', attributes); }
  static readOnlyAttributes() {
    return ['createdWith', 'expiresAt', 'installationId', 'restricted', 'sessionToken', 'user'];
  }
  _path() { return 'sessions'; }
}

class Installation extends ParseObject {
  constructor(attributes) { super('_Installation', attributes); }
  _path() { return 'installations'; }
}

ParseObject.registerSubclass('_User', User);
ParseObject.registerSubclass('_Role', Role);
ParseObject.registerSubclass('_Session', Session);
ParseObject.registerSubclass('_Installation', Installation);

module.exports = { User, Role, Session, Installation };
