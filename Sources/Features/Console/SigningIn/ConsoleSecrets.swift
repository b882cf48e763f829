import Crypto
import Encoding
import JSON
internal import Operations
internal import ServerConfiguration

/// The two halves of a session: a cookie, which all ports of a host share, and a token, which the page keeps under its own
/// origin. Neither is of use alone.
enum ConsoleSecrets {
    /// The length of a secret: 32 bytes in hexadecimal.
    static let length = 64

    static func make() -> String { Identifiers.hexadecimal(length) }

    /// What the database keeps of a secret.
    static func hash(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// What the database keeps of the cookie: it fits no longer when a key of the server was changed, which ends all
    /// sessions.
    static func hash(cookie: String, _ configuration: Configuration) -> [UInt8] {
        let administrators = configuration.audit.adminKeys.values.sorted { $0.lexicographicallyPrecedes($1) }
        let keys = [configuration.masterKey, configuration.readOnlyMasterKey ?? ""].map(hash) + administrators
        return Array(
            HMAC<SHA256>.authenticationCode(for: Array(cookie.utf8), using: SymmetricKey(data: Array(keys.joined()))))
    }

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
package enum SecretValues {
    /// What stands for a secret in the audit.
    static let changed: JSONValue = "changed"

    private static let words = [
        "password", "secret", "token", "authdata", "apikey", "masterkey", "webhookkey", "credential", "privatekey",
        "accesskey", "signingkey", "authorization", "cookie",
    ]

    private static func isSecret(_ key: Name) -> Bool {
        let key = key.text.lowercased()
        return key != "devicetokenlastmodified" && words.contains { key.contains($0) }
    }

    /// A value without the secrets in it.
    ///
    /// - Parameter word: What stands in their place.
    package static func removed(from value: JSONValue, by word: JSONValue = changed) -> JSONValue {
        switch value {
        case .object(let object):
            var result: JSONObject = [:]
            for (key, value) in object { result[key] = isSecret(key) ? word : removed(from: value, by: word) }
            return .object(result)
        case .array(let list): return .array(list.map { removed(from: $0, by: word) })
        default: return value
        }
    }
}
