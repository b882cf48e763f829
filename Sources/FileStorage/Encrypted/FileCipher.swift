import Crypto
import Foundation

/// The encryption of files on the disk, in the layout of parse-server's file adapters, so that either server reads what
/// the other wrote: AES-256-GCM; the text itself, then 16 bytes of initialization vector, then 16 bytes of tag.
public struct FileCipher: Sendable {
    /// Why a file cannot be read.
    public enum Failure: Error, Sendable {
        /// It was encrypted with another key, or not at all, or changed since.
        case notAuthentic
    }

    /// How many bytes a file is longer on the disk.
    public static let overhead = vectorLength + tagLength

    private static let vectorLength = 16
    private static let tagLength = 16

    private let key: SymmetricKey

    /// A cipher with the key that belongs to a secret.
    ///
    /// parse-server takes the first 32 characters of the Base64 text of the secret's SHA-256 for the key, and so must we.
    public init(secret: String) {
        let digest = Data(SHA256.hash(data: Data(secret.utf8))).base64EncodedString()
        key = SymmetricKey(data: Data(digest.utf8.prefix(32)))
    }

    /// What a text is on the disk.
    ///
    /// - Throws: An error of the cryptographic library.
    public func seal(_ plain: [UInt8]) throws -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        let vector = (0..<Self.vectorLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let box = try AES.GCM.seal(plain, using: key, nonce: AES.GCM.Nonce(data: vector))
        return Array(box.ciphertext) + vector + Array(box.tag)
    }

    /// The text of what is on the disk.
    ///
    /// - Throws: ``Failure/notAuthentic``.
    public func open(_ sealed: [UInt8]) throws -> [UInt8] {
        guard sealed.count >= Self.overhead else { throw Failure.notAuthentic }
        let text = sealed.dropLast(Self.overhead)
        let vector = sealed.dropFirst(text.count).prefix(Self.vectorLength)
        guard let nonce = try? AES.GCM.Nonce(data: vector),
            let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: text, tag: sealed.suffix(Self.tagLength)),
            let plain = try? AES.GCM.open(box, using: key)
        else { throw Failure.notAuthentic }
        return Array(plain)
    }
}
