// `Parse.Cloud.httpRequest` as in parse-server before version 6.

/** Sends a request to another server. Resolves to `{status, headers, text, data, buffer, cookies}`. */
export async function httpRequest(options) {
  const { success, error } = typeof options === 'string' ? {} : options;
  try {
    const response = await send(typeof options === 'string' ? { url: options } : options);
    success?.(response);
    return response;
  } catch (failure) {
    if (!error) throw failure;
    error(failure);
    return undefined;
  }
}

async function send(options) {
  const url = new URL(options.url ?? options.uri);
  const params = typeof options.params === 'string' ? new URLSearchParams(options.params) : Object.entries(options.params ?? {});
  for (const [name, value] of params) url.searchParams.append(name, value);
  const headers = new Headers(options.headers ?? {});
  const answer = await fetch(url, {
    method: options.method ?? 'GET',
    headers,
    body: bodyOf(options.body, headers),
    redirect: options.followRedirects ? 'follow' : 'manual',
  });
  const response = await responseOf(answer);
  if (answer.status < 200 || answer.status >= 400) throw response;
  return response;
}

function bodyOf(body, headers) {
  if (body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array) {
    return body ?? undefined;
  }
  if ((headers.get('content-type') ?? '').includes('x-www-form-urlencoded')) return new URLSearchParams(body).toString();
  if (!headers.has('content-type')) headers.set('content-type', 'application/json');
  return JSON.stringify(body);
}

async function responseOf(answer) {
  const buffer = Buffer.from(await answer.arrayBuffer());
  const text = buffer.toString('utf8');
  const cookies = {};
  for (const cookie of answer.headers.getSetCookie?.() ?? []) {
    const [name, value] = cookie.split(';')[0].split('=');
    cookies[name.trim()] = value;
  }
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    // Not every response is JSON.
  }
  return { status: answer.status, headers: Object.fromEntries(answer.headers), buffer, text, data, cookies };
}
