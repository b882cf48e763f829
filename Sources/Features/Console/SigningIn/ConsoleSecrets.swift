import Crypto
import Encoding
import JSON
internal import Operations
internal import ServerConfiguration

/// The two secrets of a session: a cookie, which is shared by all ports of a host, and a token, which the page stores
/// under its own origin. Both are required.
enum ConsoleSecrets {
    /// The length of a secret in characters: 32 bytes in hexadecimal.
    static let length = 64

    static func make() -> String { Identifiers.hexadecimal(length) }

    /// Returns the hash of a secret for storage.
    static func hash(_ secret: String) -> [UInt8] { Array(SHA256.hash(data: Array(secret.utf8))) }

    /// Returns the hash of the cookie for storage. It depends on the master, read-only and administrators' keys, so
    /// changing one ends all sessions. If the master key is renewed at run time and can't be loaded, sessions aren't
    /// valid.
    static func hash(cookie: String, _ configuration: Configuration) -> [UInt8] {
        let administrators = configuration.audit.adminKeys.values.sorted { $0.lexicographicallyPrecedes($1) }
        let masterKey = configuration.renewedMasterKey.map { $0.value ?? "" } ?? configuration.masterKey
        let keys = [masterKey, configuration.readOnlyMasterKey ?? ""].map(hash) + administrators
        return Array(
            HMAC<SHA256>.authenticationCode(for: Array(cookie.utf8), using: SymmetricKey(data: Array(keys.joined()))))
    }

    /// Returns the cookie name. It includes the port, so that servers on one host don't overwrite each other's cookies.
    static func cookieName(port: Int, isSecure: Bool) -> String {
        "\(isSecure ? "__Secure-" : "")roost_console_\(port)"
    }

    /// Returns the `Set-Cookie` field. Without a value it deletes the cookie.
    static func cookieField(_ name: String, _ value: String?, path: String, isSecure: Bool, seconds: Int) -> String {
        "\(name)=\(value ?? ""); Path=\(path); Max-Age=\(value == nil ? 0 : seconds); HttpOnly; SameSite=Strict"
            + (isSecure ? "; Secure" : "")
    }
}

/// Removes secrets from values before they are stored or shown.
package enum SecretValues {
    /// The replacement for secrets in audit entries.
    static let changed: JSONValue = "changed"

    private static let words = [
        "password", "secret", "token", "authdata", "apikey", "masterkey", "webhookkey", "credential", "privatekey",
        "accesskey", "signingkey", "authorization", "cookie", "passwd", "passphrase",
    ]

    private static func isSecret(_ key: Name) -> Bool {
        let key = key.text.lowercased().filter { $0 != "_" && $0 != "-" }
        return key != "devicetokenlastmodified" && words.contains { key.contains($0) }
    }

    /// Returns the value with its secrets replaced.
    ///
    /// - Parameter word: The replacement.
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
