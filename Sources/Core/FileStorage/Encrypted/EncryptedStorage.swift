import Crypto
import Limits
public import NIOCore
import NIOPosix
import Platform

/// A storage that encrypts files before another storage stores them. Details aren't encrypted.
///
/// Files in parse-server's format are loaded into memory for writing and reading, because the authentication tag at the
/// end covers the whole file. Files in segments are streamed. Both formats can be read, regardless of which is written.
public struct EncryptedStorage: FileStorage {
    private let storage: any FileStorage
    private let cipher: FileCipher
    private let older: FileCipher?
    private let writesSegments: Bool
    private let decrypted = DecryptedFiles()
    /// The gate that limits the additional memory of concurrent encryptions to 48 MB.
    private let encryptions = Gate(capacity: 48 * 1024 * 1024)

    /// Creates a storage that encrypts the files of another storage.
    ///
    /// - Parameters:
    ///   - older: The cipher for files that `cipher` can't decrypt, such as during a key rotation.
    ///   - writesSegments: Whether to write files in segments, which parse-server can't read.
    public init(
        _ storage: any FileStorage, cipher: FileCipher, older: FileCipher? = nil, writesSegments: Bool = false
    ) {
        self.storage = storage
        self.cipher = cipher
        self.older = older
        self.writesSegments = writesSegments
    }

    /// Size limits in bytes of encrypted files, whole and in segments. Other programs may have stored larger files.
    private static let (maxBytes, maxSegmentedBytes): (Int64, Int64) = (1 << 32, 1 << 50)

    public var memoryOfWrites: Int { writesSegments ? storage.memoryOfWrites : .max }

    public func prepare() async throws { try await storage.prepare() }

    public func tend() async { await storage.tend() }

    public func shutdown() async { await storage.shutdown() }

    public func checkAvailable() throws { try storage.checkAvailable() }

    public var isOutOfReach: Bool { storage.isOutOfReach }

    /// Encrypts and stores a file.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        try await write(name: name, details: details, contents: contents) {}
    }

    /// - Parameter check: Runs before the file gets its name. If it throws, nothing is stored.
    private func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents, check: @escaping @Sendable () async throws -> Void
    ) async throws where Contents.Element == ByteBuffer {
        if writesSegments {
            let sealed = SealedContents(contents: contents, segments: try FileSegments(secret: cipher.secret))
            return try await storage.write(
                name: name, details: details, contents: CheckedContents(contents: sealed, check: check))
        }
        let whole = try await encrypted(contents)
        // Remote storages compute a checksum of the whole content without suspending.
        try await HeavyWork.run(.parsing(whole.readableBytes)) {
            let contents = CheckedContents(contents: OneBuffer(buffer: whole), check: check)
            try await storage.write(name: name, details: details, contents: contents)
        }
    }

    /// Encrypts a whole file and drops the plaintext, so that only one copy stays in memory during a slow write.
    ///
    /// - Throws: The error of `contents`, `CancellationError` if cancelled while waiting, or
    ///   ``FileStorageError/refused`` if the file is too large to be read again.
    private func encrypted<Contents: AsyncSequence>(_ contents: Contents) async throws -> ByteBuffer
    where Contents.Element == ByteBuffer {
        var plain = ByteBuffer()
        for try await chunk in contents {
            guard plain.readableBytes + chunk.readableBytes < Int(Self.maxBytes) - FileCipher.overhead else {
                throw FileStorageError.refused
            }
            if plain.readableBytes == 0 { plain = chunk } else { plain.writeImmutableBuffer(chunk) }
        }
        return try await encryptions.run(weight: 2 * plain.readableBytes) {
            // On another thread, because large files would block the event loop.
            try await NIOThreadPool.singleton.runIfActive { [plain, cipher] in try cipher.sealed(plain) }
        }
    }

    /// Opens a file. Decrypts it at once if it is in parse-server's format.
    ///
    /// - Throws: ``FileStorageError/notReadable`` if the file can't be decrypted, or the storage's error.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        // The first bytes reveal the format, which determines the other bytes to read.
        let isWhole = wish.range == nil && wish.knownVersions == nil && !wish.isHeadOnly
        let first = FileWish(range: isWhole ? nil : "bytes=0-\(FileSegments.headerSize - 1)")
        guard let file = try await storage.open(name: name, for: first) else { return nil }
        let head = try await Self.head(of: file)
        if FileSegments.isHeader(head) {
            return try await segments(of: file, head).file
        }
        let key = DecryptedFiles.Key(name: Array(name.utf8), version: file.entityTag)
        return try await decrypted.file(key, size: Int(file.size)) { try await decrypt(file, head).file }
    }

    /// Re-encrypts a file with the current key and format. The file stays readable, because the new version replaces it
    /// only when complete.
    ///
    /// - Parameter isDryRun: Whether to leave the file as it is.
    /// - Returns: The plaintext size in bytes, or nil if the file is up to date or doesn't exist.
    /// - Throws: ``FileStorageError/notReadable``, ``Replaced``, or an error of the storage.
    public func encryptAnew(name: String, isDryRun: Bool) async throws -> Int64? {
        guard let file = try await storage.open(name: name) else { return nil }
        let head = try await Self.head(of: file)
        let (isSegmented, plain, isOlder): (Bool, any StoredFile, Bool)
        if FileSegments.isHeader(head) {
            isSegmented = true
            (plain, isOlder) = try await segments(of: file, head)
        } else {
            isSegmented = false
            (plain, isOlder) = try await decrypt(file, head)
        }
        guard isOlder || isSegmented != writesSegments else { return nil }
        if isDryRun { return plain.size }
        let details = if let known = file.details { known } else { try await storage.details(name: name) }
        try await write(name: name, details: details, contents: FilePieces(file: plain)) {
            let now = try await storage.open(name: name, for: FileWish(isHeadOnly: true))
            guard now?.entityTag == file.entityTag else { throw Replaced() }
        }
        return plain.size
    }

    /// The error if a file was replaced or deleted while it was re-encrypted.
    public struct Replaced: Error, CustomStringConvertible {
        public let description = "the file was replaced during re-encryption. Run the command again"
    }

    private static func head(of file: any StoredFile) async throws -> [UInt8] {
        guard file.size <= Self.maxSegmentedBytes else { throw FileStorageError.notReadable }
        var head: [UInt8] = []
        try await file.give(0..<min(Int64(FileSegments.headerSize), file.size)) { head += $0.readableBytesView }
        return head
    }

    private func segments(of file: any StoredFile, _ head: [UInt8]) async throws -> (file: SegmentedFile, isOlder: Bool)
    {
        let current = FileSegments(secret: cipher.secret, header: head)
        guard let segments = current ?? older.flatMap({ FileSegments(secret: $0.secret, header: head) }) else {
            throw FileStorageError.notReadable
        }
        let opened = try SegmentedFile(file, segments)
        // Verifies an empty file now, because callers read nothing from it. Its only segment proves that it isn't
        // truncated.
        if opened.size == 0 { try await opened.give(0..<0) { _ in } }
        return (opened, current == nil)
    }

    private func decrypt(_ file: any StoredFile, _ head: [UInt8]) async throws -> (file: FileInMemory, isOlder: Bool) {
        guard file.size <= Self.maxBytes else { throw FileStorageError.notReadable }
        var sealed = head
        sealed.reserveCapacity(Int(file.size))
        try await file.give(Int64(head.count)..<file.size) { sealed += $0.readableBytesView }
        return try await NIOThreadPool.singleton.runIfActive { [sealed, cipher, older] in
            // Uses the encrypted file's entity tag, because a time in whole seconds could miss a quick replacement.
            let (time, tag) = (file.modified, file.entityTag.isEmpty ? nil : file.entityTag)
            if let plain = try? cipher.open(sealed) {
                return (FileInMemory(bytes: plain, modified: time, entityTag: tag), false)
            }
            guard let plain = try? older?.open(sealed) else { throw FileStorageError.notReadable }
            return (FileInMemory(bytes: plain, modified: time, entityTag: tag), true)
        }
    }

    /// Whether the file exists, even if it can't be decrypted.
    public func exists(name: String) async throws -> Bool { try await storage.exists(name: name) }

    public func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }

    public func delete(name: String) async throws { try await storage.delete(name: name) }

    /// Visits the files with their plaintext sizes, calculated as if all had the format that is currently written.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        try await storage.visit(prefix: prefix) { file in
            var file = file
            let size = file.size - Int64(FileCipher.overhead)
            file.size = max(0, writesSegments ? FileSegments.plainSize(file.size) ?? size : size)
            try await use(file)
        }
    }
}

/// Encrypts files with AES-256-GCM in the layout of parse-server's file adapters, so that both servers can read the
/// files: the ciphertext, a 16-byte initialization vector, and a 16-byte tag.
public struct FileCipher: Sendable {
    /// The number of bytes that encryption adds to a file in this layout.
    public static let overhead = vectorLength + tagLength

    private static let vectorLength = 16
    private static let tagLength = 16

    private let key: SymmetricKey
    fileprivate let secret: SymmetricKey

    /// Derives the key from a secret.
    ///
    /// As in parse-server, the key is the first 32 characters of the Base64-encoded SHA-256 of the secret.
    public init(secret: String) {
        let digest = Data(SHA256.hash(data: Data(secret.utf8))).base64EncodedString()
        key = SymmetricKey(data: Data(digest.utf8.prefix(32)))
        self.secret = SymmetricKey(data: Data(secret.utf8))
    }

    /// Encrypts a file's content.
    ///
    /// - Throws: An error of the cryptography library.
    public func seal(_ plain: [UInt8]) throws -> [UInt8] {
        Array(try sealed(ByteBuffer(bytes: plain)).readableBytesView)
    }

    /// Encrypts a file's content. Temporarily requires twice its size in additional memory.
    func sealed(_ plain: ByteBuffer) throws -> ByteBuffer {
        var generator = SystemRandomNumberGenerator()
        let vector = (0..<Self.vectorLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
        let nonce = try AES.GCM.Nonce(data: vector)
        let box = try plain.withUnsafeReadableBytes { try AES.GCM.seal($0, using: key, nonce: nonce) }
        var sealed = ByteBuffer()
        sealed.reserveCapacity(plain.readableBytes + Self.overhead)
        sealed.writeBytes(box.ciphertext)
        sealed.writeBytes(vector)
        sealed.writeBytes(box.tag)
        return sealed
    }

    /// Decrypts and authenticates a file's content.
    ///
    /// - Throws: ``FileStorageError/notReadable``.
    public func open(_ sealed: [UInt8]) throws -> [UInt8] {
        guard sealed.count >= Self.overhead else { throw FileStorageError.notReadable }
        let text = sealed.dropLast(Self.overhead)
        let vector = sealed.dropFirst(text.count).prefix(Self.vectorLength)
        guard let nonce = try? AES.GCM.Nonce(data: vector),
            let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: text, tag: sealed.suffix(Self.tagLength)),
            let plain = try? AES.GCM.open(box, using: key)
        else { throw FileStorageError.notReadable }
        return Array(plain)
    }
}
