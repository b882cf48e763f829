// Serves the files of the option `publicFolder`. Excludes hidden files and files outside the folder, even if links lead to
// them.

import { constants } from 'node:fs';
import fs from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';

const types = {
  html: 'text/html', htm: 'text/html', css: 'text/css', js: 'text/javascript', mjs: 'text/javascript', txt: 'text/plain',
  md: 'text/markdown', csv: 'text/csv', json: 'application/json', map: 'application/json', xml: 'application/xml',
  webmanifest: 'application/manifest+json', svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg',
  gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', ico: 'image/x-icon', woff: 'font/woff', woff2: 'font/woff2',
  ttf: 'font/ttf', otf: 'font/otf', mp3: 'audio/mpeg', m4a: 'audio/mp4', ogg: 'audio/ogg', wav: 'audio/wav',
  mp4: 'video/mp4', webm: 'video/webm', pdf: 'application/pdf', wasm: 'application/wasm', zip: 'application/zip',
};

/** Returns a function that responds to a request with a file of the folder, and returns whether the file exists. */
export async function publicFiles(folder) {
  const root = await fs.realpath(folder);
  return async (request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    const [, pathname, query] = /^([^?]*)(.*)$/s.exec(request.url);
    const names = namesOf(pathname);
    if (names === undefined) return false;
    const endsInSlash = names.at(-1) === '';
    let found = await open(root, names);
    const isFolder = found === 'folder';
    if (isFolder) found = await open(root, [...names, 'index.html']);
    else if (endsInSlash) found = await found?.handle.close();
    if (found === undefined || found === 'folder') return false;
    try {
      if (isFolder && !endsInSlash) response.writeHead(301, { Location: `${pathname}/${query}` }).end();
      else await send(found, request, response);
    } finally {
      await found.handle.close();
    }
    return true;
  };
}

/**
 * Returns the decoded names in a path, or undefined for paths that are never served, such as hidden names and escaped
 * slashes.
 */
function namesOf(pathname) {
  try {
    const names = pathname.split('/').map(decodeURIComponent);
    const isUsable = (name, index) => (name === '' ? index === names.length - 1 : !/^\.|[/\\\0]/.test(name));
    return names.shift() === '' && names.every(isUsable) ? names : undefined;
  } catch {
    return undefined;
  }
}

/** Opens a file. Returns `{handle, stat, name}`, `folder` for a folder, or undefined if it can't be served. */
async function open(root, names) {
  let handle;
  try {
    const real = await fs.realpath(path.join(root, ...names));
    const inside = path.relative(root, real);
    if (path.isAbsolute(inside) || inside.split(path.sep).some(name => name.startsWith('.'))) return undefined;
    // Doesn't block on pipes, and doesn't follow links that were created in the meantime.
    handle = await fs.open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await handle.stat();
    if (stat.isFile()) return { handle, stat, name: real };
    await handle.close();
    return stat.isDirectory() ? 'folder' : undefined;
  } catch {
    await handle?.close().catch(() => {});
    return undefined;
  }
}

async function send({ handle, stat, name }, { method, headers: sent }, response) {
  const type = types[path.extname(name).slice(1).toLowerCase()] ?? 'application/octet-stream';
  const headers = {
    'Content-Type': /^text|json$|xml$/.test(type) ? `${type}; charset=utf-8` : type, 'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'public, max-age=0', 'Accept-Ranges': 'bytes', 'Last-Modified': stat.mtime.toUTCString(),
    ETag: `W/"${stat.size.toString(16)}-${Math.trunc(stat.mtimeMs).toString(16)}"`,
  };
  if (isFresh(sent, headers)) return response.writeHead(304, headers).end();
  const isCurrent = sent['if-range'] === undefined || sent['if-range'] === headers['Last-Modified'];
  const range = isCurrent ? rangeOf(sent.range, stat.size) : undefined;
  if (range?.length <= 0) return response.writeHead(416, { 'Content-Range': `bytes */${stat.size}` }).end();
  const { start, length } = range ?? { start: 0, length: stat.size };
  headers['Content-Length'] = length;
  if (range) headers['Content-Range'] = `bytes ${start}-${start + length - 1}/${stat.size}`;
  response.writeHead(range ? 206 : 200, headers);
  if (method === 'HEAD' || length === 0) return response.end();
  const stream = handle.createReadStream({ start, end: start + length - 1, autoClose: false });
  // The client may disconnect at any time.
  await pipeline(stream, response, { end: false }).catch(() => {});
  // If the file was truncated in the meantime, the client must not mistake it for complete.
  return stream.bytesRead === length ? response.end() : response.destroy();
}

function isFresh(sent, headers) {
  const tags = sent['if-none-match'];
  if (tags !== undefined) return tags.split(',').some(tag => ['*', headers.ETag].includes(tag.trim()));
  return Date.parse(sent['if-modified-since']) >= Date.parse(headers['Last-Modified']);
}

function rangeOf(text, size) {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(text ?? '') ?? [];
  if (!first && !last) return undefined;
  const start = first ? Number(first) : Math.max(0, size - Number(last));
  const end = first && last ? Math.min(Number(last), size - 1) : size - 1;
  return { start, length: end - start + 1 };
}
