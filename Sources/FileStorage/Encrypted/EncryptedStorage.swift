public import NIOCore
import NIOPosix

/// A storage whose files are encrypted before another storage keeps them. What is said about a file is not.
///
/// A file is held in memory whole while it is written and read, since its last bytes tell whether it is authentic.
public struct EncryptedStorage: FileStorage {
    private let storage: any FileStorage
    private let cipher: FileCipher
    private let decrypted = DecryptedFiles()

    /// Encrypts what a storage keeps.
    public init(_ storage: any FileStorage, cipher: FileCipher) {
        self.storage = storage
        self.cipher = cipher
    }

    /// It does, to decrypt it.
    public var holdsWholeFiles: Bool { true }

    /// Makes sure that files can be stored.
    public func prepare() async throws { try await storage.prepare() }

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
    public func open(name: String) async throws -> (any StoredFile)? {
        guard let file = try await storage.open(name: name) else { return nil }
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

    /// Many megabytes take longer than an event loop should.
    private static func onThread<R: Sendable>(_ work: @escaping @Sendable () throws -> R) async throws -> R {
        try await NIOThreadPool.singleton.runIfActive(work)
    }
}
