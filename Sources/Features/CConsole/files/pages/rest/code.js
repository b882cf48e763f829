/** A request as a command, and as code of two languages: the keys are names of variables, never values. */

// Text that deceives in an editor or a terminal is written as an escape, which JSON and the languages read as the same.
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\ud800-\udfff]/g;
const hex = (character) => character.charCodeAt(0).toString(16).padStart(4, "0");

/** JSON whose texts have no characters that are not seen. */
export const safeJSON = (text) => text.replace(UNSAFE, (character) => "\\u" + hex(character));

const quoted = (text) => safeJSON(JSON.stringify(text));
const swiftCharacter = (character) => (character === "\\" || character === '"' ? "\\" + character
  : /[\n\r\t]/.test(character) || character.length > 1 || character.match(UNSAFE) ? `\\u{${character.codePointAt(0).toString(16)}}` : character);
const swiftText = (text) => `"${[...text].map(swiftCharacter).join("")}"`;
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The variables whose values are keys. */
const KEYS = {
  master: [["X-Parse-Master-Key", "PARSE_MASTER_KEY"]],
  user: [["X-Parse-REST-API-Key", "PARSE_REST_API_KEY"], ["X-Parse-Session-Token", "PARSE_SESSION_TOKEN"]],
  nobody: [["X-Parse-REST-API-Key", "PARSE_REST_API_KEY"]],
};

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

/** `{ curl, swift, javascript }` of `{ method, address, body, who, appId }`; `body` is JSON as a text, or undefined. */
export function code({ method, address, body, who, appId }) {
  const keys = KEYS[who];
  const json = body === undefined ? undefined : safeJSON(body);
  const curl = [`curl -X ${method} ${shell(address)}`, `-H ${shell("X-Parse-Application-Id: " + appId)}`, ...keys.map(([field, name]) => `-H "${field}: $${name}"`),
    ...(json === undefined ? [] : ["-H 'Content-Type: application/json'", `--data-raw ${shell(json)}`])].join(" \\\n  ");
  const javascript = [
    `const answer = await fetch(${quoted(address)}, {`, `  method: "${method}",`, "  headers: {", `    "X-Parse-Application-Id": ${quoted(appId)},`,
    ...keys.map(([field, name]) => `    "${field}": process.env.${name},`), ...(json === undefined ? [] : ['    "Content-Type": "application/json",']), "  },",
    ...(json === undefined ? [] : [`  body: ${quoted(json)},`]), "});", "console.log(answer.status, await answer.text());",
  ].join("\n");
  const swift = [
    "import Foundation", "#if canImport(FoundationNetworking)", "import FoundationNetworking", "#endif", "",
    `var request = URLRequest(url: URL(string: ${swiftText(address)})!)`, `request.httpMethod = "${method}"`, `request.setValue(${swiftText(appId)}, forHTTPHeaderField: "X-Parse-Application-Id")`,
    ...keys.map(([field, name]) => `request.setValue(ProcessInfo.processInfo.environment["${name}"], forHTTPHeaderField: "${field}")`),
    ...(json === undefined ? [] : ['request.setValue("application/json", forHTTPHeaderField: "Content-Type")', `request.httpBody = Data(${swiftText(json)}.utf8)`]),
    "let (data, response) = try await URLSession.shared.data(for: request)", 'print((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))',
  ].join("\n");
  return { curl, swift, javascript };
}
