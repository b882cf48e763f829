import Crypto
import Encoding
import JSON
import Platform
import ServerConfiguration

/// The option `auth.mfa`.
struct FactorOptions: Sendable {
    /// Whether users can set up an authenticator app. Log-ins accept the codes of existing apps even if this is false.
    let hasTOTP: Bool
    /// Whether codes may be sent as text messages.
    let hasSMS: Bool
    let digits: Int
    /// The time in seconds for which an app shows a code.
    let period: Int
    let algorithm: OneTimeCode.Algorithm
    /// The validity of a text-message code, in seconds.
    let messageValidity: Int
    let secrets: FactorSecrets
    /// The sender of text messages, or nil if they are not configured.
    let sender: MessageSender?

    /// - Throws: `ConfigurationError` if the option is invalid.
    init(_ json: JSONObject) throws(ConfigurationError) {
        guard let kinds = json["options"]?.arrayValue else {
            throw ConfigurationError("mfa.options must be an array")
        }
        hasSMS = kinds.contains("SMS")
        hasTOTP = kinds.contains("TOTP")
        guard hasSMS || hasTOTP else { throw ConfigurationError("mfa.options must include SMS or TOTP") }
        digits = try Self.number(json["digits"], "digits", 6)
        guard (4...10).contains(digits) else { throw ConfigurationError("mfa.digits must be between 4 and 10") }
        period = try Self.number(json["period"], "period", 30)
        guard period >= 10 else { throw ConfigurationError("mfa.period must be greater than 10") }
        guard period <= 3600 else { throw ConfigurationError("mfa.period must be at most 3600") }
        messageValidity = try Self.number(json["smsValidityDuration"], "smsValidityDuration", 300)
        guard (30...86_400).contains(messageValidity) else {
            throw ConfigurationError("mfa.smsValidityDuration must be between 30 and 86400")
        }
        guard let algorithm = OneTimeCode.Algorithm(rawValue: json["algorithm"]?.stringValue ?? "SHA1") else {
            throw ConfigurationError("mfa.algorithm must be SHA1, SHA256 or SHA512")
        }
        self.algorithm = algorithm
        secrets = FactorSecrets(key: json["encryptionKey"]?.stringValue)
        sender = try json["sendSMS"].map { value throws(ConfigurationError) in try MessageSender(value) }
        guard !hasSMS || sender != nil else {
            throw ConfigurationError(
                "mfa.sendSMS callback must be defined when using SMS OTPs: in Roost it is an object with url, body and "
                    + "headers. In url and body, {{mobile}} and {{token}} stand for the number and the code")
        }
    }

    private static func number(_ value: JSONValue?, _ name: String, _ otherwise: Int) throws(ConfigurationError) -> Int
    {
        guard let value, value.isTruthy else { return otherwise }
        guard let number = value.numberValue, let whole = Int(exactly: number) else {
            throw ConfigurationError("mfa.\(name) must be a number")
        }
        return whole
    }
}

/// Protects the stored secrets of second factors. With a key they are encrypted or hashed, so that a copy of the
/// database doesn't reveal them. Without a key they are stored as in parse-server. Secrets stored without a key remain
/// readable.
package struct FactorSecrets: Sendable {
    private static let sealedPrefix = "aes:"
    private static let digestPrefix = "hmac:"

    private let key: SymmetricKey?

    /// - Parameter key: The text from which the key is derived, or nil to store secrets as in parse-server.
    package init(key: String?) {
        self.key = key.map {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Array($0.utf8)), info: Array("second factor".utf8),
                outputByteCount: 32)
        }
    }

    /// Returns a secret for storage, encrypted if there is a key.
    package func sealed(_ secret: String) throws -> String {
        guard let key else { return secret }
        let box = try AES.GCM.seal(Array(secret.utf8), using: key)
        return Self.sealedPrefix + (box.combined ?? Data()).base64EncodedString()
    }

    /// Returns a stored secret in plain text, or nil if it can't be decrypted with the key.
    package func opened(_ stored: String) -> String? {
        guard stored.hasPrefix(Self.sealedPrefix) else { return stored }
        guard let key, let data = Data(base64Encoded: String(stored.dropFirst(Self.sealedPrefix.count))),
            let box = try? AES.GCM.SealedBox(combined: data), let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return String(validating: plain, as: UTF8.self)
    }

    /// Returns a code for storage. With a key it is a keyed hash, because a plain hash of six digits is easily guessed.
    func digest(_ code: String) -> String {
        guard let key else { return code }
        let hash = HMAC<SHA256>.authenticationCode(for: Array(code.utf8), using: key)
        return Self.digestPrefix + Data(hash).base64EncodedString()
    }

    func isSame(_ code: String, as stored: String) -> Bool {
        ConstantTime.areEqual(stored.hasPrefix(Self.digestPrefix) ? digest(code) : code, stored)
    }
}
