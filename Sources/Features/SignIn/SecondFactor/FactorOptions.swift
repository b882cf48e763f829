import Crypto
import Encoding
import JSON
import ServerConfiguration

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the option `auth.mfa` says.
struct FactorOptions: Sendable {
    /// Whether codes of authenticator apps are taken.
    let hasTOTP: Bool
    /// Whether codes are sent as text messages.
    let hasSMS: Bool
    let digits: Int
    /// For how many seconds a code of an app is shown.
    let period: Int
    let algorithm: OneTimeCode.Algorithm
    /// For how many seconds a code of a text message is good.
    let messageValidity: Int
    let secrets: FactorSecrets
    /// How text messages are sent; nil for not at all.
    let sender: MessageSender?

    /// Reads the option; throws `ConfigurationError` with parse-server's texts.
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
        guard (10...3600).contains(period) else { throw ConfigurationError("mfa.period must be greater than 10") }
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
                "mfa.sendSMS callback must be defined when using SMS OTPs: in Roost it is an object with url, headers and "
                    + "body, in which {{mobile}} and {{token}} stand for the number and the code")
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

/// How the secrets of second factors are stored: as parse-server stores them, or, with a key, so that a copy of the
/// database does not give them away. What was stored without a key is read with one, too.
package struct FactorSecrets: Sendable {
    private static let sealedPrefix = "aes:"
    private static let digestPrefix = "hmac:"

    private let key: SymmetricKey?

    /// - Parameter key: The text that the key is made of; nil to store as parse-server does.
    package init(key: String?) {
        self.key = key.map {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Array($0.utf8)), info: Array("second factor".utf8),
                outputByteCount: 32)
        }
    }

    /// A secret as stored: encrypted if a key is configured.
    package func sealed(_ secret: String) throws -> String {
        guard let key else { return secret }
        let box = try AES.GCM.seal(Array(secret.utf8), using: key)
        return Self.sealedPrefix + (box.combined ?? Data()).base64EncodedString()
    }

    /// A secret as it was given; nil when it was stored with another key.
    package func opened(_ stored: String) -> String? {
        guard stored.hasPrefix(Self.sealedPrefix) else { return stored }
        guard let key, let data = Data(base64Encoded: String(stored.dropFirst(Self.sealedPrefix.count))),
            let box = try? AES.GCM.SealedBox(combined: data), let plain = try? AES.GCM.open(box, using: key)
        else { return nil }
        return String(validating: plain, as: UTF8.self)
    }

    /// A code that is only compared, as it is stored: by a keyed hash, since a plain one of six digits is soon guessed.
    func digest(_ code: String) -> String {
        guard let key else { return code }
        let hash = HMAC<SHA256>.authenticationCode(for: Array(code.utf8), using: key)
        return Self.digestPrefix + Data(hash).base64EncodedString()
    }

    func isSame(_ code: String, as stored: String) -> Bool {
        ConstantTime.areEqual(stored.hasPrefix(Self.digestPrefix) ? digest(code) : code, stored)
    }
}
