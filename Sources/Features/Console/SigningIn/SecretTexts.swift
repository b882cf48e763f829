import Encoding
import JSON
package import ServerConfiguration

/// Removes secrets from unstructured texts, such as log lines: the server's secret keys of at least 4 bytes, and
/// anything that looks like a token, password, password hash or private key. Apps may log anything.
package struct SecretTexts: Sendable {
    /// The replacement for secrets in texts.
    static let hidden = "[hidden]"
    private let keys: [String]

    package init(_ configuration: Configuration) {
        let keys = [
            configuration.masterKey, configuration.renewedMasterKey?.value, configuration.readOnlyMasterKey,
            configuration.maintenanceKey, configuration.fileKey, configuration.encryptionKey,
            configuration.previousEncryptionKey, configuration.webhooks.key, configuration.metrics.key,
        ]
        self.keys = keys.compactMap { $0 }.filter { $0.utf8.count >= 4 }.sorted { $0.utf8.count > $1.utf8.count }
    }

    /// Returns the fields of a log line without secrets.
    package func removed(from line: JSONObject) -> JSONObject {
        guard let known = SecretValues.removed(from: .object(line), by: .string(Self.hidden)).objectValue else {
            return [:]
        }
        var redacted: JSONObject = [:]
        for (name, value) in known { redacted[name] = name == "timestamp" ? value : removed(from: value) }
        return redacted
    }

    func removed(from value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(removed(from: text))
        case .array(let list): .array(list.map(removed))
        case .object(let object): .object(object.mapValues(removed))
        default: value
        }
    }

    /// Replaces a key. Compares bytes, because a combining mark after the key would change its last character.
    private static func removing(_ key: String, from text: String) -> String {
        guard text.utf8.firstRange(of: key.utf8) != nil else { return text }
        var (redacted, rest): ([UInt8], ArraySlice<UInt8>) = ([], Array(text.utf8)[...])
        while let place = rest.firstRange(of: key.utf8) {
            redacted += rest[..<place.lowerBound] + Array(hidden.utf8)
            rest = rest[place.upperBound...]
        }
        return String(decoding: redacted + rest, as: UTF8.self)
    }

    private static let maxBytes = 4_000

    /// Returns a text without secrets. The patterns take linear time, because clients write much of the log.
    package func removed(from whole: String) -> String {
        // Leaves room for the longest key, because a key split by the cut would not be recognized. The final cut comes
        // after the keys are removed.
        let isLong = whole.utf8.count > Self.maxBytes
        let spare = keys.first?.utf8.count ?? 0
        var text = isLong ? String(decoding: whole.utf8.prefix(Self.maxBytes / 4 + spare), as: UTF8.self) : whole
        for key in keys { text = Self.removing(key, from: text) }
        if isLong {
            let size = min(Self.maxBytes / 4, max(0, text.utf8.count - spare))
            text = String(decoding: text.utf8.prefix(size), as: UTF8.self) + "\u{2026}"
        }
        if text.contains("PRIVATE KEY-----") {
            text.replace(/(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/) { _ in
                Self.hidden
            }
        }
        if text.contains("r:") { text.replace(/r:[0-9a-f]{8,}/) { _ in "r:" + Self.hidden } }
        if text.contains("@") { text.replace(/:\/\/[^\s\/?#"']*@/) { _ in "://\(Self.hidden)@" } }
        if text.contains("$2") { text.replace(/\$2[abxy]?\$\d\d\$[.\/A-Za-z0-9]{20,}/) { _ in Self.hidden } }
        if text.contains("eyJ") { text.replace(/eyJ[\w\-.]{20,}/) { _ in Self.hidden } }
        if text.contains("earer ") || text.contains("asic ") {
            text.replace(/(?i)\b(bearer|basic) +[\w.~+\/=\-]{8,}/) { "\($0.1) \(Self.hidden)" }
        }
        guard text.contains("=") || text.contains(":") else { return text }
        // `password=x`, `"apiKey":"x"`, `{ token: 'x' }`.
        text.replace(
            /(?i)((?:passw(?:or)?d|secret|token|passphrase|(?:api|master|access|private|signing|webhook)[_\-]?key|ticket|credential)\w{0,16}(?:=["']?|["']?\s*:\s*["']))[^\s"'&,;}]+/
        ) { "\($0.1)\(Self.hidden)" }
        return text
    }
}
