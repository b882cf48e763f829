import Crypto
import Encoding
import Foundation

/// How the secrets of second factors are stored: as parse-server stores them, or, with a key, so that a copy of the
/// database does not give them away. What was stored without a key is read with one, too.
struct FactorSecrets: Sendable {
    private static let sealedPrefix = "aes:"
    private static let digestPrefix = "hmac:"

    private let key: SymmetricKey?

    /// Makes a store.
    ///
    /// - Parameter key: The text that the key is made of; nil to store as parse-server does.
    init(key: String?) {
        self.key = key.map {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: Array($0.utf8)), info: Array("second factor".utf8),
                outputByteCount: 32)
        }
    }

    /// A secret as it is stored.
    func sealed(_ secret: String) throws -> String {
        guard let key else { return secret }
        let box = try AES.GCM.seal(Array(secret.utf8), using: key)
        return Self.sealedPrefix + (box.combined ?? Data()).base64EncodedString()
    }

    /// A secret as it was given; nil when it was stored with another key.
    func opened(_ stored: String) -> String? {
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

    /// Whether a code is the stored one.
    func isSame(_ code: String, as stored: String) -> Bool {
        ConstantTime.areEqual(stored.hasPrefix(Self.digestPrefix) ? digest(code) : code, stored)
    }
}
