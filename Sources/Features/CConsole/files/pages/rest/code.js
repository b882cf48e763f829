/** A request as a command, as an app sends it: without the master key, and with the names of variables for its keys. */

// Text that deceives in an editor or a terminal is written as an escape, which JSON reads as the same.
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udfff]/g;
const hex = (character) => character.charCodeAt(0).toString(16).padStart(4, "0");

/** JSON whose texts have no characters that are not seen. */
const safeJSON = (text) => text.replace(UNSAFE, (character) => "\\u" + hex(character));

const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The address of a request: encoded, so that no language and no shell reads anything into it. */
export function url(base, path, query) {
  const encode = (text) => encodeURIComponent(text).replace(/['()!*~]/g, (character) => "%" + character.charCodeAt(0).toString(16).toUpperCase());
  const parts = path.split("/").map((part) => {
    try {
      return encode(decodeURIComponent(part));
    } catch {
      return encode(part);
    }
  }).join("/");
  return `${base}/${parts}` + (query.length ? "?" + query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&") : "");
}

/** The command of `{ method, address, body, who, appId }`; `body` is JSON as a text, or undefined. */
export function curl({ method, address, body, who, appId }) {
  return [`curl -X ${method} ${shell(address)}`, `-H ${shell("X-Parse-Application-Id: " + appId)}`, '-H "X-Parse-REST-API-Key: $PARSE_REST_API_KEY"',
    ...(who === "user" ? ['-H "X-Parse-Session-Token: $PARSE_SESSION_TOKEN"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `--data-raw ${shell(safeJSON(body))}`])].join(" \\\n  ");
}
