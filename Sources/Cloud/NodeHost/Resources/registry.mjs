// The functions, jobs and triggers that the app's code registers.

import { checkValidator, describeValidator } from './validators.mjs';

const loginEvents = new Set(['beforeLogin', 'afterLogin', 'beforePasswordResetRequest']);

/** Returns the class name for a trigger, from a string, a class of the SDK, `Parse.File` or `Parse.Config`. */
export function classNameOf(value) {
  if (typeof value === 'string') return value;
  const name = value?.className ?? value?.name?.replace(/^Parse(?=File$|Config$)/, '@');
  if (typeof name !== 'string' || name === '') throw new Error('A trigger requires a class or its name.');
  return name;
}

export class Registry {
  #functions = new Map();
  #jobs = new Map();
  #triggers = new Map();
  #log;
  /** Called after each registration. */
  changed = () => {};

  constructor(log) {
    this.#log = log;
  }

  define(name, handler, validator) {
    const key = String(name);
    if (this.#functions.has(key)) {
      this.#log.write('warn', `Duplicate cloud functions exist for ${key}. `
        + 'Only the last one will be used and the others will be ignored.');
    }
    this.#add(this.#functions, key, `function ${key}`, handler, validator);
  }

  job(name, handler) {
    this.#add(this.#jobs, String(name), `job ${name}`, handler);
  }

  trigger(event, parseClass, handler, validator) {
    const className = classNameOf(parseClass);
    checkClass(event, className);
    const key = `${event} ${className}`;
    if (this.#triggers.has(key)) {
      this.#log.write('warn', `Duplicate ${event} triggers exist for ${className}. `
        + 'Only the last one will be used and the others will be ignored.');
    }
    this.#add(this.#triggers, key, `${event} of ${className}`, handler, validator);
  }

  /** Returns the registration for a call, or undefined if there is none. */
  find(call) {
    switch (call.kind) {
      case 'function': return this.#functions.get(call.name);
      case 'job': return this.#jobs.get(call.name);
      default: return this.#triggers.get(`${call.event} ${call.name}`);
    }
  }

  /** Describes all registrations for the server. */
  describe() {
    const plain = map => [...map].map(([name, entry]) => ({ name, validator: describeValidator(entry.validator) }));
    return {
      functions: plain(this.#functions),
      jobs: plain(this.#jobs),
      triggers: plain(this.#triggers).map(({ name, validator }) => {
        const space = name.indexOf(' ');
        return { event: name.slice(0, space), class: name.slice(space + 1), validator };
      }),
    };
  }

  #add(map, key, what, handler, validator) {
    if (typeof handler !== 'function') throw new Error(`The handler of the ${what} must be a function.`);
    checkValidator(validator);
    map.set(key, { handler, validator });
    this.changed();
  }
}

function checkClass(event, className) {
  if (event === 'beforeSave' && className === '_PushStatus') throw 'Only afterSave is allowed on _PushStatus';
  if (loginEvents.has(event) && className !== '_User') {
    throw 'Only the _User class is allowed for the beforeLogin, afterLogin, and beforePasswordResetRequest triggers';
  }
  if (event === 'afterLogout' && className !== '_Session') {
    throw 'Only the _Session class is allowed for the afterLogout trigger.';
  }
  if (className === '_Session' && event !== 'afterLogout') {
    throw 'Only the afterLogout trigger is allowed for the _Session class.';
  }
}
