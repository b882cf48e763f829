// The second parameter of handlers: the response of functions since parse-server 9.1, and the callbacks before 3.0.

function onlyOnce(name) {
  return new Error(`Cannot call ${name}() after response has already been sent. `
    + 'Make sure to call success() or error() only once per cloud function execution.');
}

/** Creates a promise with its resolvers. */
function deferred() {
  const result = {};
  result.promise = new Promise((resolve, reject) => Object.assign(result, { resolve, reject }));
  return result;
}

/** Calls a function with a response for the status and header fields. Uses the return value if nothing is sent. */
export async function callWithResponse(handler, request, answer) {
  const outcome = deferred();
  // The error may be sent before the promise is awaited.
  outcome.promise.catch(() => {});
  let isSent = false;
  const send = (name, action) => {
    if (isSent) throw onlyOnce(name);
    isSent = true;
    action();
  };
  const response = {
    status(code) {
      answer.status = code;
      return response;
    },
    header(name, value) {
      answer.headers ??= {};
      answer.headers[name] = String(value);
      return response;
    },
    success: value => send('success', () => outcome.resolve(value)),
    error: message => send('error', () => outcome.reject(message)),
  };
  const returned = await handler(request, response);
  return isSent ? outcome.promise : returned;
}

/**
 * Calls a handler in the style before parse-server 3, which finishes by calling the response. A returned value or
 * rejected promise also finishes it.
 *
 * @param isAfter Whether the result doesn't matter. The handler is then finished when it returns.
 */
export function callWithCallbacks(handler, request, onMessage, isAfter) {
  const outcome = deferred();
  const response = {
    success: value => outcome.resolve(value),
    error: (code, message) => outcome.reject(legacyError(code, message)),
    message: text => onMessage?.(text),
  };
  Promise.resolve(handler(request, response)).then(
    value => {
      if (value !== undefined || isAfter) outcome.resolve(value);
    },
    outcome.reject);
  return outcome.promise;
}

function legacyError(code, message) {
  if (message === undefined || message === null) return code;
  return new Parse.Error(Number.isInteger(code) ? code : Parse.Error.SCRIPT_FAILED, message);
}
