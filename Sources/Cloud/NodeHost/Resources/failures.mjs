// What code threw, as the server is told.

/** `{code, message}` for Parse's errors, `{message}` for others; without a message where nothing was said. */
export function failureOf(thrown) {
  try {
    return describe(thrown);
  } catch {
    // What throws when it is looked at says nothing.
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

/** The same for a validator, which refuses with 142. */
export function refusalOf(thrown) {
  const failure = failureOf(thrown);
  return { code: failure.code ?? Parse.Error.VALIDATION_ERROR ?? 142, message: failure.message ?? 'Validation failed.' };
}

// The code of another copy of the SDK throws errors of another class.
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
