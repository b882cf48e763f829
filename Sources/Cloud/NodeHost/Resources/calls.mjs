// Handles calls of the server: creates the requests for cloud code and sends the results.

import { failureOf, refusalOf } from './failures.mjs';
import { fileJSON, fileOf } from './files.mjs';
import {
  changedMembers, configOf, decodeParams, difference, foundJSON, pending, plainJSON, queryOf, stored,
} from './objects.mjs';
import { setUser } from './records.mjs';
import { callWithCallbacks, callWithResponse } from './responses.mjs';
import { runFor } from './tracking.mjs';
import { CallTurns } from './turns.mjs';
import { askValidator } from './validators.mjs';

const liveQueryEvents = new Set(['beforeConnect', 'beforeSubscribe', 'afterEvent']);

const readOptions = ['readPreference', 'includeReadPreference', 'subqueryReadPreference'];

export class Calls {
  #connection;
  #registry;
  #log;
  #settings;
  #cancelled = new Set();
  #open = new Set();
  #turns = new CallTurns();

  constructor(connection, registry, log, settings) {
    this.#connection = connection;
    this.#registry = registry;
    this.#log = log;
    this.#settings = settings;
  }

  /** Runs a call in its turn and sends the result. */
  carryOut(call, body = () => this.#answer(call)) {
    this.#turns.add(call, () => this.#perform(call, body));
  }

  async #perform(call, body) {
    this.#open.add(call.id);
    let result;
    try {
      result = await runFor(call, body);
    } catch (error) {
      result = { error: failureOf(error) };
    }
    this.#open.delete(call.id);
    if (this.#cancelled.delete(call.id)) return;
    this.#send(call, result);
  }

  /** Runs the functions of a validator. */
  validate(call) {
    this.carryOut(call, async () => {
      const { validator } = this.#entry(call);
      try {
        const { roles } = call.request;
        await askValidator(validator, this.#request(call), roles ?? [], this.#validated(call));
        return {};
      } catch (error) {
        return { error: refusalOf(error) };
      }
    });
  }

  /** Cancels a call whose caller has stopped waiting. Running code can't be stopped; its result is dropped. */
  cancel(id) {
    if (this.#turns.remove(id)) return;
    if (this.#open.has(id)) this.#cancelled.add(id);
  }

  #send(call, result) {
    try {
      this.#connection.send('result', { id: call.id, ...result });
    } catch (error) {
      const message = `Cloud code returned a value that can't be sent: ${error.message}`;
      this.#log.write('error', message, call);
      this.#connection.send('result', { id: call.id, error: { message } });
    }
  }

  #entry(call) {
    const entry = this.#registry.find(call);
    if (entry === undefined) throw new Error(`Cloud code has no ${call.event ?? call.kind} ${call.name}.`);
    return entry;
  }

  async #answer(call) {
    const { handler, validator } = this.#entry(call);
    const request = this.#request(call);
    if (typeof validator === 'function') {
      const refusal = await this.#refusal(validator, request);
      if (refusal !== undefined) return { error: refusal };
    }
    switch (call.kind) {
      case 'function': return this.#function(handler, request);
      case 'job': return this.#job(handler, request, call);
      default: return this.#trigger(handler, request, call);
    }
  }

  async #refusal(validator, request) {
    const limit = this.#settings.validatorTimeout;
    let timer;
    const late = new Promise((_, reject) => {
      if (limit > 0) timer = setTimeout(() => reject(new Parse.Error(124, 'Cloud code timed out.')), limit);
    });
    try {
      await Promise.race([validator(request), late]);
      return undefined;
    } catch (error) {
      return refusalOf(error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #function(handler, request) {
    const response = {};
    const value = await this.#run(handler, request, () => callWithResponse(handler, request, response));
    const result = { value: value === undefined ? undefined : Parse._encode(value) };
    if (response.status !== undefined || response.headers !== undefined) result.response = response;
    return result;
  }

  async #job(handler, request, call) {
    const value = await this.#run(handler, request, () => handler(request), request.message, call);
    const message = value instanceof Error ? value.message : value;
    return { value: typeof message === 'string' ? message : undefined };
  }

  async #trigger(handler, request, call) {
    const { event } = call;
    const run = () => this.#run(handler, request, () => handler(request));
    const context = () => ({ context: request.context });
    if (call.name === '@File') return this.#fileTrigger(run, request, call);
    switch (call.name === '@Config' ? 'config' : event) {
      case 'beforeSave': {
        const before = request.object._getSaveJSON();
        const value = await run();
        if (isPlain(value?.object)) return { fields: Parse._encode(value.object), ...context() };
        return { ...difference(before, request.object._getSaveJSON(), call.request.changes), ...context() };
      }
      case 'afterSave': {
        const before = plainJSON(request.object);
        const value = await run();
        return { ...afterSaveAnswer(value, request.object, before), ...context() };
      }
      case 'beforeFind': {
        const value = await run();
        const objects = foundObjects(value);
        if (objects !== undefined) return { objects, ...context() };
        const query = value instanceof Parse.Query ? value : request.query;
        const json = { ...call.request.query, ...query.toJSON() };
        for (const name of readOptions) if (request[name]) json[name] = request[name];
        return { query: json, ...context() };
      }
      case 'beforeSubscribe':
        await run();
        return { query: request.query.toJSON() };
      case 'afterEvent':
        await run();
        return {
          liveEvent: {
            sendEvent: request.sendEvent !== false,
            object: told(request.object),
            original: told(request.original),
          },
        };
      case 'afterFind': {
        const value = await run();
        if (value && !Array.isArray(value)) throw new Parse.Error(141, 'An afterFind trigger must return a list of objects.');
        return { objects: (value || request.objects).map(foundJSON) };
      }
      default:
        await run();
        return context();
    }
  }

  async #fileTrigger(run, request, call) {
    const value = await run();
    if (call.event !== 'beforeSave') return {};
    const file = value instanceof Parse.File ? value : request.file;
    return { file: await fileJSON(file, call.request.file) };
  }

  // Handlers with two parameters are recognized by their length, as in parse-server.
  #run(handler, request, plainly, onMessage) {
    if (handler.length < 2 || !this.#settings.legacyCallbacks) return plainly();
    const isAfter = request.triggerName === 'afterSave' || request.triggerName === 'afterDelete';
    return callWithCallbacks(handler, request, onMessage, isAfter);
  }

  #validated(call) {
    return call.kind === 'function' ? this.#params(call) : call.request.object;
  }

  #params(call) {
    const params = decodeParams(call.request.params ?? {}, this.#settings.decodesPointers);
    for (const name of call.request.uploads ?? []) params[name].data = Buffer.from(params[name].data, 'base64');
    return params;
  }

  /** Creates the request for the handler. */
  #request(call) {
    const { request: sent, kind, event } = call;
    const request = {
      master: sent.master ?? false,
      isReadOnly: sent.isReadOnly ?? false,
      user: undefined,
      installationId: sent.installationId,
      headers: sent.headers ?? {},
      ip: sent.ip,
      context: sent.context ?? {},
      log: this.#log.forCall(call),
      requestId: call.requestId,
    };
    setUser(request, call);
    if (call.traceparent) request.trace = { traceparent: call.traceparent };
    switch (kind) {
      case 'function': return Object.assign(request, { functionName: call.name, params: this.#params(call) });
      case 'job': return this.#jobRequest(request, call);
      default: request.triggerName = event;
    }
    if (call.name === '@File') {
      return Object.assign(request, { file: fileOf(sent.file), fileSize: sent.file.size ?? null });
    }
    if (call.name === '@Config') {
      request.object = configOf(sent.object);
      if (sent.original) request.original = configOf(sent.original);
      return request;
    }
    if (liveQueryEvents.has(event)) {
      Object.assign(request, sent.details);
      if (sent.query) request.query = queryOf(call.name, sent.query);
      if (sent.object) request.object = stored(sent.object);
      if (sent.original) request.original = stored(sent.original);
      return request;
    }
    if (event === 'beforeFind' || event === 'afterFind') {
      request.query = queryOf(call.name, sent.query ?? {});
      request.count = sent.count ?? false;
      request.isGet = sent.isGet ?? false;
      if (event === 'afterFind') request.objects = (sent.objects ?? []).map(json => stored(json, json.className ?? call.name));
      return request;
    }
    if (event === 'beforeSave') {
      request.object = pending(call);
    } else if (sent.object) {
      request.object = stored(sent.object);
      if (event === 'afterSave') request.object._setExisted?.(sent.original !== undefined);
    }
    if (sent.original) request.original = stored(sent.original);
    return request;
  }

  #jobRequest(request, call) {
    const { jobId } = call.request;
    return {
      params: this.#params(call),
      headers: request.headers, ip: request.ip, log: request.log, jobName: call.name, jobId,
      message: text => this.#connection.send('message', { id: call.id, jobId, text: String(text) }),
    };
  }
}

/** Returns the JSON of an object for live-query clients, or undefined without an object. */
function told(object) {
  return object instanceof Parse.Object ? foundJSON(object) : object ?? undefined;
}

/** Returns the objects that a beforeFind trigger returned, or undefined if it returned anything else. */
function foundObjects(value) {
  if (value instanceof Parse.Object) return [foundJSON(value)];
  if (Array.isArray(value) && value.every(element => element instanceof Parse.Object)) return value.map(foundJSON);
  return undefined;
}

/** Returns the changes of an afterSave trigger to the response: a replacement, or the fields that it has set. */
function afterSaveAnswer(value, object, before) {
  if (value instanceof Parse.Object && value !== object) return { answer: plainJSON(value) };
  if (value !== null && typeof value === 'object' && value !== object) return { answer: Parse._encode(value) };
  return { told: changedMembers(before, plainJSON(object)) };
}

function isPlain(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Parse.Object);
}
