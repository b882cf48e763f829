// The app's adapters: provided to ParseServer by its index.js, or named as modules in the options.

import { createRequire } from 'node:module';
import path from 'node:path';
import { loadModule } from './modules.mjs';
import { pending, userOf } from './objects.mjs';
import { lazily } from './records.mjs';

const methods = [
  'validateAuthData', 'validateAppId', 'validateSetUp', 'validateLogin', 'validateUpdate', 'challenge', 'validateOptions',
  'beforeFind', 'afterFind', 'policy',
];

const policies = [undefined, null, 'default', 'additional', 'solo'];

const incomplete = 'Adapter is not configured. Implement either validateAuthData or all of the following: validateSetUp, '
  + 'validateLogin and validateUpdate';
const badPolicy = 'AuthAdapter policy is not configured correctly. The value must be either "solo", "additional", "default" '
  + 'or undefined (will be handled as "default")';

export class Adapters {
  #providers = new Map();
  #mail;
  #options = new Map();
  #log;
  #connection;
  /** The number of adapters that are being loaded. */
  loading = 0;

  constructor(log, connection) {
    this.#log = log;
    this.#connection = connection;
  }

  /**
   * Creates the adapter of a provider, once per process. Throws if it can't be used.
   *
   * @param entry The provider's value in the option `auth`.
   * @param folders The folders in which its module is looked up.
   */
  add(provider, entry, folders) {
    return this.#load(`auth.${provider}`, entry, folders, async adapter => {
      // The reserved names `@mail` and `@option` begin with @.
      if (provider.startsWith('@')) throw new Error('The name of a provider cannot begin with @.');
      const found = methods.filter(name => typeof adapter[name] === 'function');
      const isWhole = found.includes('validateAuthData')
        || ['validateSetUp', 'validateLogin', 'validateUpdate'].every(name => found.includes(name));
      if (!isWhole) throw new Error(incomplete);
      if (!policies.includes(adapter.policy) && !found.includes('policy')) throw new Error(badPolicy);
      await adapter.validateOptions?.(entry);
      this.#providers.set(provider, { adapter, entry, methods: found });
    });
  }

  /** Creates the mail adapter. Throws if it can't be used. */
  addMail(entry, folders) {
    return this.#load('emailAdapter', entry, folders, adapter => {
      if (typeof adapter.sendMail !== 'function') {
        throw new Error("Adapter prototype don't match expected prototype: it has no sendMail");
      }
      this.#mail = adapter;
    });
  }

  async #load(option, entry, folders, use) {
    const module = [entry, entry?.module, entry?.class, entry?.adapter].find(part => typeof part === 'string');
    this.loading += 1;
    // The server names the module if it ends or blocks this process.
    this.#connection.send('loading', { text: module === undefined ? option : `${option} ${module}` });
    try {
      await use(await make(entry, folders));
    } catch (error) {
      throw named(option, error);
    } finally {
      this.loading -= 1;
      this.#connection.send('loading', { text: '' });
    }
  }

  /** Registers an option that is a function, by its path in all options, such as `passwordPolicy.validatorCallback`. */
  addOption(name, options) {
    const path = name.split('.');
    const member = path.pop();
    const owner = path.reduce((value, key) => value?.[key], options);
    if (typeof owner?.[member] !== 'function') throw new Error(`${name}: it was a function when the file was first read, but isn't one now`);
    this.#options.set(name, request => owner[member](request));
  }

  /** Calls an option that is a function. As in parse-server, only `true` enables most of them. */
  async #ask({ option, request }) {
    if (option === 'masterKey') return { value: await this.#options.get(option)() };
    if (option === 'passwordPolicy.validatorCallback') return { value: Boolean(await this.#options.get(option)(request.password)) };
    const users = ['object', 'original', 'user'].filter(name => request[name] !== undefined);
    const stored = await storedUser(request[users[0]].objectId);
    const given = { ...request };
    for (const name of users) given[name] = userFrom({ ...stored, ...request[name] });
    const value = await this.#options.get(option)(given);
    return { value: option === 'sendUserEmailVerification' ? Boolean(value) : value === true };
  }

  /** The function that sends an email for cloud code with the adapter and returns its result, or undefined without an adapter. */
  get sendMail() {
    return this.#mail && (mail => this.#mail.sendMail(mail));
  }

  /** Sends an account email, with the adapter's method for that kind if it has one. */
  async #sendAccountMail({ kind, mail, link, appName, user }) {
    const method = { verificationEmail: 'sendVerificationEmail', passwordResetEmail: 'sendPasswordResetEmail' }[kind];
    if (typeof this.#mail?.[method] !== 'function') return this.#mail.sendMail(mail);
    return this.#mail[method]({ link, appName, user: userFrom({ ...await storedUser(user.objectId), ...user }) });
  }

  /** Describes the adapters for the server. */
  describe() {
    return [...this.#providers].map(([provider, { adapter, methods: found }]) =>
      ({ provider, methods: found, policy: adapter.policy ?? undefined }));
  }

  /** Runs a step of an adapter, or an option that is a function. Returns `{value}`, or `{}` for emails. */
  async perform(call) {
    if (call.name === '@mail') {
      await this.#sendAccountMail(call.request.params);
      return {};
    }
    if (call.name === '@option') return this.#ask(call.request.params);
    const { step, authData, challengeData, isRequestFirst, users } = call.request.params;
    const { adapter, entry, methods: found } = this.#providers.get(call.name) ?? {};
    if (adapter === undefined) throw new Error(`Cloud code has no adapter for ${call.name}.`);
    const request = requestOf(call, this.#log.forCall(call));
    if (step === 'beforeFind') {
      await adapter.beforeFind(authData);
      return { value: { authData } };
    }
    if (step === 'afterFind') {
      const show = async data => plain((await adapter.afterFind(...(isRequestFirst ? [request, data, entry] : [data, entry, request]))) || data);
      // One user without an answer doesn't hide the data of the others.
      const late = () => new Promise((_, reject) => setTimeout(reject, 1000, new Error('no answer within a second')).unref());
      const shown = await Promise.allSettled(authData.map(data => Promise.race([show(data), late()])));
      const failed = shown.findIndex(({ status }) => status === 'rejected');
      const { reason } = shown[failed] ?? {};
      if (failed >= 0) this.#log.write('error', `Failed running auth step afterFind for ${call.name} for user ${users[failed]}: ${reason?.stack ?? reason}`, call);
      // The server hides data for which it gets null.
      return { value: { shown: shown.map(({ value }) => value ?? null) } };
    }
    if (step === 'policy') return { value: { policy: await adapter.policy(request, authData) } };
    if (step === 'challenge') return { value: { challenge: plain(await adapter.challenge(challengeData, authData, entry, request)) || true } };
    if (entry.appIds && found.includes('validateAppId')) await adapter.validateAppId(entry.appIds, authData, entry, request);
    const method = found.includes('validateAuthData') ? 'validateAuthData' : step;
    request.triggerName = method;
    const result = await adapter[method](authData, entry, request);
    if (result === null || typeof result !== 'object') return { value: {} };
    return { value: plain({ save: result.save || undefined, doNotSave: Boolean(result.doNotSave), response: result.response }) };
  }
}

/** Returns the request for an adapter: the user after and before the change, and the caller, each created on first use. */
function requestOf({ request: { ip, headers, installationId, user: record, params }, userText }, log) {
  const { step, isMaster, isChallenge, changes, user, isCaller, hasOriginal } = params;
  const request = { master: isMaster, triggerName: step, log, ip, headers, installationId };
  if (isChallenge) request.isChallenge = true;
  // Otherwise code could mistake an existing user for a new one.
  if (userText === null) throw new Error('The server sent no record of the user.');
  const stored = () => (userText === undefined ? record : JSON.parse(userText));
  if (changes !== undefined) {
    lazily(request, 'object', () => pending({ request: { object: { className: '_User' }, original: stored(), changes } }));
  }
  if (hasOriginal) lazily(request, 'original', () => userOf(stored()));
  lazily(request, 'user', () => userOf(isCaller ? stored() : user));
  return request;
}

/** Reads a user without sign-in data. Returns an empty one for new or deleted users and for emails without a user id. */
async function storedUser(objectId) {
  const user = objectId && await new Parse.Query('_User').equalTo('objectId', objectId).first({ useMasterKey: true });
  const { authData, ...stored } = user ? user.toJSON() : {};
  return stored;
}

const userFrom = json => Parse.Object.fromJSON({ ...json, className: '_User' });

const plain = value => JSON.parse(JSON.stringify(value) ?? 'null') ?? undefined;

/** Creates an error that names the option and includes the original stack. */
function named(option, cause) {
  const error = new Error(`${option}: ${cause?.message ?? cause}`);
  if (cause?.stack) error.stack = `Error: ${error.message}\ncaused by ${cause.stack}`;
  return error;
}

async function make(entry, folders) {
  let base = entry?.module ?? entry?.class ?? entry?.adapter ?? entry;
  const options = base === entry ? entry : entry.options;
  if (typeof base === 'string') {
    const file = createRequire(path.join(folders[0], 'index.js')).resolve(base, { paths: folders });
    const loaded = await loadModule(file);
    base = loaded.default ?? loaded;
    base = base.default ?? base;
  }
  if (typeof base !== 'function') return base ?? {};
  if (/^class\b/.test(Function.prototype.toString.call(base))) return new base(options);
  try {
    return base(options) ?? {};
  } catch (error) {
    // A transpiled class is a function that requires `new`.
    if (!(error instanceof TypeError)) throw error;
    return new base(options);
  }
}
