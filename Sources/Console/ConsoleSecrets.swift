import Crypto
import Encoding
import HTTP
import JSON
internal import Operations

/// The two halves of a session: a cookie, which all ports of a host share, and a token, which the page keeps under its own
/// origin. Neither is of use alone.
enum ConsoleSecrets {
    /// 32 bytes.
    static func make() -> String { Identifiers.hexadecimal(64) }

    /// What the database keeps of a secret.
    static func hash(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// The name of the cookie. Servers on several ports of a host do not overwrite each other's.
    static func cookieName(port: Int, isSecure: Bool) -> String {
        "\(isSecure ? "__Secure-" : "")roost_console_\(port)"
    }

    /// The field that sets the cookie; one without a value ends it.
    static func cookieField(_ name: String, _ value: String?, path: String, isSecure: Bool, seconds: Int) -> String {
        "\(name)=\(value ?? ""); Path=\(path); Max-Age=\(value == nil ? 0 : seconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}

/// What of values is not kept, and not shown.
enum SecretValues {
    /// What stands for a secret in the audit.
    static let changed: JSONValue = "changed"

    private static let words = [
        "password", "secret", "token", "authdata", "apikey", "masterkey", "webhookkey", "credential",
    ]

    private static func isSecret(_ key: Name) -> Bool {
        let key = key.text.lowercased()
        return key != "devicetokenlastmodified" && words.contains { key.contains($0) }
    }

    /// A value without the secrets in it.
    static func removed(from value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for (key, value) in object { result[key] = isSecret(key) ? changed : removed(from: value) }
            return .object(result)
        case .array(let list): return .array(list.map(removed))
        default: return value
        }
    }

    /// An answer without the tokens of sessions in it.
    ///
    /// - Throws: ``HTTPError`` for one that cannot be read, and so may have some.
    static func withoutTokens(_ reply: Reply) throws(HTTPError) -> Reply {
        guard case .json(let bytes) = reply.body else { return reply }
        var reply = reply
        reply.body = .json(try withoutTokens(bytes))
        return reply
    }

    /// The same, of its bytes.
    static func withoutTokens(_ bytes: [UInt8]) throws(HTTPError) -> [UInt8] {
        guard mayHaveTokens(bytes) else { return bytes }
        guard let value = try? JSONValue(parsing: bytes, maximumDepth: 1_000) else {
            throw HTTPError(status: 500, message: "The answer cannot be read.")
        }
        return withoutTokens(value).serialized()
    }

    private static let name = Array("\"sessionToken\"".utf8)

    /// Whether the name of tokens stands in an answer: looked for by its rarest letter, since answers may be large.
    private static func mayHaveTokens(_ bytes: [UInt8]) -> Bool {
        let before = 8
        var rest = bytes.dropFirst(before)
        while let letter = rest.firstIndex(of: UInt8(ascii: "T")) {
            if bytes[(letter - before)...].starts(with: name) { return true }
            rest = bytes[(letter + 1)...]
        }
        return false
    }

    private static func withoutTokens(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var result = object
            for (key, value) in object {
                // One that is shortened would show its beginning. A schema has a field of this name, and no token.
                if key == "sessionToken", value.stringValue != nil || value["__type"] == "Shortened" {
                    result[key] = "hidden"
                } else {
                    result[key] = withoutTokens(value)
                }
            }
            return .object(result)
        case .array(let list): return .array(list.map(withoutTokens))
        default: return value
        }
    }
}
