// Converts errors of cloud code for the server.

/** Returns `{code, message}` for Parse errors and `{message}` for others. The message is missing if the error has none. */
export function failureOf(thrown) {
  try {
    return describe(thrown);
  } catch {
    // An error whose properties throw has no message.
    return {};
  }
}

function describe(thrown) {
  if (isParseError(thrown)) {
    return { code: thrown.code, message: typeof thrown.message === 'string' ? thrown.message : textOf(thrown.message) };
  }
  if (thrown === undefined || thrown === null || thrown === '') return {};
  if (typeof thrown === 'string') return { message: thrown };
  if (typeof thrown === 'object' && thrown.message) return { message: textOf(thrown.message) };
  return { message: textOf(thrown) };
}

/** Returns the failure of a validator, with code 142 by default. */
export function refusalOf(thrown) {
  const failure = failureOf(thrown);
  return { code: failure.code ?? Parse.Error.VALIDATION_ERROR ?? 142, message: failure.message ?? 'Validation failed.' };
}

// Errors from another copy of the SDK have a different class.
function isParseError(thrown) {
  return Number.isSafeInteger(thrown?.code)
    && (thrown instanceof Parse.Error || thrown.constructor?.name === 'ParseError');
}

function textOf(value) {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
