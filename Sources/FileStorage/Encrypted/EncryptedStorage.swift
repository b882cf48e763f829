import Crypto
import Foundation
public import NIOCore
import NIOPosix

/// A storage whose files are encrypted before another storage keeps them. What is said about a file is not.
///
/// A file is held in memory whole while it is written and read, since its last bytes show whether it is authentic.
public struct EncryptedStorage: FileStorage {
    private let storage: any FileStorage
    private let cipher: FileCipher
    private let decrypted = DecryptedFiles()

    /// Encrypts what a storage keeps.
    public init(_ storage: any FileStorage, cipher: FileCipher) {
        self.storage = storage
        self.cipher = cipher
    }

    /// The longest file that is read: one of a store of others may have any length.
    private static let mostBytes: Int64 = 1 << 32

    /// It does, to decrypt it.
    public var holdsWholeFiles: Bool { true }

    /// Makes sure that files can be stored.
    public func prepare() async throws { try await storage.prepare() }

    /// Looks after the storage below.
    public func tend() async { await storage.tend() }

    /// Closes the storage below.
    public func shutdown() async { await storage.shutdown() }

    /// Asks the storage below.
    public func checkAvailable() throws { try storage.checkAvailable() }

    /// Encrypts a file and stores it.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        var plain: [UInt8] = []
        for try await chunk in contents { plain += chunk.readableBytesView }
        let sealed = try await Self.onThread { [plain, cipher] in try cipher.seal(plain) }
        try await storage.write(name: name, details: details, bytes: sealed)
    }

    /// Opens a file and decrypts it.
    ///
    /// - Throws: ``FileStorageError/notReadable`` when it is not authentic.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        guard let file = try await storage.open(name: name, for: FileWish()) else { return nil }
        guard file.size <= Self.mostBytes else { throw FileStorageError.notReadable }
        let key = DecryptedFiles.Key(name: Array(name.utf8), version: file.entityTag)
        do {
            return try await decrypted.file(key, size: Int(file.size)) { [cipher] in
                var sealed: [UInt8] = []
                sealed.reserveCapacity(Int(file.size))
                try await file.give(0..<file.size) { sealed += $0.readableBytesView }
                let plain = try await Self.onThread { [sealed] in try cipher.open(sealed) }
                return FileInMemory(bytes: plain, modified: file.modified)
            }
        } catch is FileCipher.Failure {
            throw FileStorageError.notReadable
        }
    }

    /// Whether there is a file, readable or not.
    public func exists(name: String) async throws -> Bool { try await storage.exists(name: name) }

    /// What the client said about a file.
    public func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }

    /// Removes a file.
    public func delete(name: String) async throws { try await storage.delete(name: name) }

    /// Gives the files of the storage below, with the sizes that they have in clear.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        try await storage.visit(prefix: prefix) { file in
            var file = file
            file.size = max(0, file.size - Int64(FileCipher.overhead))
            try await use(file)
        }
    }

    /// Many megabytes take longer than an event loop should.
    private static func onThread<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await NIOThreadPool.singleton.runIfActive(work)
    }
}

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
    /// parse-server takes the first 32 characters of the Base64 text of the secret's SHA-256 for the key, and so must
    /// we.
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
