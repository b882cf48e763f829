import Crypto
import Outgoing
import Platform

/// Encrypts web-push messages (RFC 8291) so that only the subscribed browser can read them.
package struct WebPushEncryption {
    private let browserKey: P256.KeyAgreement.PublicKey
    private let secret: [UInt8]

    /// Reads a subscription's keys from Base64URL. Returns nil if they are invalid.
    package init?(p256dh: String, auth: String) {
        guard let key = Base64URL.decode(p256dh), let secret = Base64URL.decode(auth), secret.count == 16,
            let browserKey = try? P256.KeyAgreement.PublicKey(x963Representation: key)
        else { return nil }
        self.browserKey = browserKey
        self.secret = secret
    }

    /// Encrypts a text as a single record with content encoding `aes128gcm` (RFC 8188).
    ///
    /// - Parameters:
    ///   - key: A new key for this message.
    ///   - salt: 16 random bytes.
    package func encrypt(
        _ text: [UInt8], key: P256.KeyAgreement.PrivateKey = P256.KeyAgreement.PrivateKey(),
        salt: [UInt8] = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    ) throws -> [UInt8] {
        let sender = Array(key.publicKey.x963Representation)
        let shared = try key.sharedSecretFromKeyAgreement(with: browserKey)
        let info = Array("WebPush: info\0".utf8) + Array(browserKey.x963Representation) + sender
        let input = shared.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: secret, sharedInfo: info, outputByteCount: 32)
        func derive(_ name: String, _ count: Int) -> SymmetricKey {
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: input, salt: salt, info: Array("Content-Encoding: \(name)\0".utf8),
                outputByteCount: count)
        }
        let nonce = try derive("nonce", 12).withUnsafeBytes { try AES.GCM.Nonce(data: Data($0)) }
        // The padding delimiter 2 marks the last record.
        let box = try AES.GCM.seal(text + [2], using: derive("aes128gcm", 16), nonce: nonce)
        return salt + [0, 0, 0x10, 0, UInt8(sender.count)] + sender + Array(box.ciphertext) + Array(box.tag)
    }
}
