// Validators. The server checks their data; functions in them run here.

import { ownMember } from './objects.mjs';

const topLevel = {
  requireMaster: ['boolean'], requireUser: ['boolean'], validateMasterKey: ['boolean'], skipWithMasterKey: ['boolean'],
  requireAnyUserRoles: ['array', 'function'], requireAllUserRoles: ['array', 'function'],
  requireUserKeys: ['array', 'object'], fields: ['array', 'object'], rateLimit: ['object'],
};
const ofField = {
  type: ['any'], constant: ['boolean'], default: ['any'], options: ['any'], required: ['boolean'], error: ['string'],
};

/** Throws for an invalid validator, like parse-server when it loads the code. */
export function checkValidator(validator) {
  if (validator === undefined || validator === null || typeof validator === 'function') return;
  if (typeof validator !== 'object') throw new Error('A validator must be an object or a function.');
  for (const [key, value] of Object.entries(validator)) {
    checkKey(topLevel, key, value);
    if (key === 'rateLimit') checkLimit(value);
    if ((key === 'fields' || key === 'requireUserKeys') && !Array.isArray(value)) {
      for (const rule of Object.values(value)) {
        if (rule === null || typeof rule !== 'object') continue;
        for (const [name, setting] of Object.entries(rule)) checkKey(ofField, name, setting);
      }
    }
  }
}

function checkLimit(limit) {
  for (const key of ['requestTimeWindow', 'requestCount']) {
    if (!Number.isFinite(limit?.[key])) throw `rateLimit.${key} must be a number`;
  }
}

function checkKey(table, key, value) {
  if (!Object.hasOwn(table, key)) throw `${key} is not a supported parameter for Cloud Function validations.`;
  const types = table[key];
  const type = Array.isArray(value) ? 'array' : typeof value;
  if (!types.includes(type) && !types.includes('any')) {
    throw 'Invalid type for Cloud Function validation key '
      + `${key}. Expected ${types.join('|')}, actual ${type}`;
  }
}

/** Returns the data in a validator, or undefined if the server has nothing to check. */
export function describeValidator(validator) {
  if (validator === undefined || validator === null || typeof validator === 'function') return undefined;
  const data = {};
  for (const [key, value] of Object.entries(validator)) {
    if (typeof value === 'function') {
      data.asksHost = true;
      // Roles that a function returns also require a user.
      data.requireUser = true;
    } else if ((key === 'fields' || key === 'requireUserKeys') && !Array.isArray(value)) {
      data[key] = Object.fromEntries(Object.entries(value).map(([name, rule]) => [name, describeRule(rule, data)]));
    } else {
      data[key] = Parse._encode(value);
    }
  }
  return data;
}

function describeRule(rule, data) {
  if (rule === null || typeof rule !== 'object') return typeof rule === 'string' ? rule : {};
  const described = {};
  for (const [key, value] of Object.entries(rule)) {
    if (key === 'type') {
      described.type = (typeof value === 'function' ? value.name : String(value)).toLowerCase();
    } else if (key === 'options' && typeof value === 'function') {
      data.asksHost = true;
    } else if (key !== 'default' || (value !== undefined && value !== null)) {
      described[key] = Parse._encode(value);
    }
  }
  return described;
}

/** Runs the functions in a validator. Throws the error for the caller if one rejects the call. */
export async function askValidator(validator, request, roles, params) {
  if (request.master && !validator.validateMasterKey) return;
  await askRules(validator.fields, name => ownMember(params, name));
  await askRoles(validator.requireAnyUserRoles, roles, 'some', 'User does not match the required roles.');
  await askRoles(validator.requireAllUserRoles, roles, 'every', 'User does not match all the required roles.');
  await askRules(validator.requireUserKeys, name => request.user?.get(name), true);
}

async function askRules(rules, valueOf, areNeeded = false) {
  if (rules === undefined || rules === null || Array.isArray(rules)) return;
  await Promise.all(Object.entries(rules).map(async ([name, rule]) => {
    if (typeof rule?.options !== 'function') return;
    const value = valueOf(name);
    if (value === undefined && !rule.required && !areNeeded) return;
    await askOption(rule, name, value);
  }));
}

async function askOption(rule, name, value) {
  const refusal = `Validation failed. Invalid value for ${name}.`;
  let answer;
  try {
    answer = await rule.options(value);
  } catch (error) {
    throw rule.error || error?.message || error || refusal;
  }
  if (!answer && answer !== undefined && answer !== null) throw rule.error || refusal;
}

async function askRoles(names, roles, quantifier, refusal) {
  if (typeof names !== 'function') return;
  const needed = await names();
  if (!needed[quantifier](name => roles.includes(`role:${name}`))) throw `Validation failed. ${refusal}`;
}
