import Crypto
public import NIOCore
import NIOPosix
import Tasks

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A storage whose files are encrypted before another storage keeps them. What is said about a file is not.
///
/// A file in parse-server's form is held in memory whole while it is written and read, since its last bytes show whether it
/// is authentic; one in segments is not. Both forms are read, whichever is written.
public struct EncryptedStorage: FileStorage {
    private let storage: any FileStorage
    private let cipher: FileCipher
    /// The cipher of files not yet re-encrypted.
    private let older: FileCipher?
    private let writesSegments: Bool
    private let decrypted = DecryptedFiles()
    /// Bytes that concurrent whole-file encryptions take, besides the files.
    private let encryptions = Gate(capacity: 48 * 1024 * 1024)

    /// Encrypts what a storage keeps.
    ///
    /// - Parameters:
    ///   - older: What opens files that `cipher` does not.
    ///   - writesSegments: Whether files are written in segments, which parse-server cannot read.
    public init(
        _ storage: any FileStorage, cipher: FileCipher, older: FileCipher? = nil, writesSegments: Bool = false
    ) {
        self.storage = storage
        self.cipher = cipher
        self.older = older
        self.writesSegments = writesSegments
    }

    /// Size limits for reading, whole and in segments. Files stored by others may have any size.
    private static let (mostBytes, mostInSegments): (Int64, Int64) = (1 << 32, 1 << 50)

    /// It does, unless it writes segments.
    public var holdsWholeFiles: Bool { !writesSegments || storage.holdsWholeFiles }
    public var memoryOfWrites: Int { storage.memoryOfWrites }

    /// Makes sure that files can be stored.
    public func prepare() async throws { try await storage.prepare() }

    /// Looks after the storage below.
    public func tend() async { await storage.tend() }

    /// Closes the storage below.
    public func shutdown() async { await storage.shutdown() }

    /// Asks the storage below.
    public func checkAvailable() throws { try storage.checkAvailable() }

    public var isOutOfReach: Bool { storage.isOutOfReach }

    /// Encrypts a file and stores it.
    public func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents
    ) async throws where Contents.Element == ByteBuffer {
        try await write(name: name, details: details, contents: contents) {}
    }

    /// - Parameter check: Runs when the content is complete, before naming. If it throws, nothing is stored.
    private func write<Contents: AsyncSequence>(
        name: String, details: FileDetails, contents: Contents, check: @escaping @Sendable () async throws -> Void
    ) async throws where Contents.Element == ByteBuffer {
        if writesSegments {
            let sealed = SealedContents(contents: contents, segments: try cipher.segments())
            return try await storage.write(
                name: name, details: details, contents: CheckedContents(contents: sealed, check: check))
        }
        let whole = try await encrypted(contents)
        // Stores far away sum up all of it, with nothing to wait for on the way.
        try await HeavyWork.run(if: whole.readableBytes > HeavyWork.size) {
            try await storage.write(
                name: name, details: details, contents: CheckedContents(contents: OneBuffer(whole), check: check))
        }
    }

    /// Encrypts a whole file and drops the plaintext, so that slow stores hold one copy in memory.
    ///
    /// - Throws: `CancellationError` if cancelled while queued; ``FileStorageError/refused`` if the file is too large
    ///   to be read again.
    private func encrypted<Contents: AsyncSequence>(_ contents: Contents) async throws -> ByteBuffer
    where Contents.Element == ByteBuffer {
        var plain = ByteBuffer()
        for try await chunk in contents {
            guard plain.readableBytes + chunk.readableBytes < Int(Self.mostBytes) - FileCipher.overhead else {
                throw FileStorageError.refused
            }
            if plain.readableBytes == 0 { plain = chunk } else { plain.writeImmutableBuffer(chunk) }
        }
        return try await encryptions.run(weight: 2 * plain.readableBytes) {
            try await Self.onThread { [plain, cipher] in try cipher.sealed(plain) }
        }
    }

    /// Opens a file, and decrypts it when it is not one in segments.
    ///
    /// - Throws: ``FileStorageError/notReadable`` when it is not authentic.
    public func open(name: String, for wish: FileWish) async throws -> (any StoredFile)? {
        // Its first bytes say which form it has; of which others are wanted depends on that.
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

    /// Encrypts a file anew, with the key and in the form of now. It can be read at any time: the new one takes its name
    /// when all of it is stored.
    ///
    /// - Returns: Its size in clear; nil where it is so already, or there is none.
    /// - Throws: ``FileStorageError/notReadable``; ``Replaced``; the storage's error.
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

    /// A client has replaced or deleted the file while it was encrypted anew.
    public struct Replaced: Error, CustomStringConvertible {
        /// The message for the operator.
        public let description = "it was replaced meanwhile: run the command again"
    }

    private static func head(of file: any StoredFile) async throws -> [UInt8] {
        guard file.size <= Self.mostInSegments else { throw FileStorageError.notReadable }
        var head: [UInt8] = []
        try await file.give(0..<min(Int64(FileSegments.headerSize), file.size)) { head += $0.readableBytesView }
        return head
    }

    private func segments(of file: any StoredFile, _ head: [UInt8]) async throws -> (file: SegmentedFile, isOlder: Bool)
    {
        let current = cipher.segments(header: head)
        guard let segments = current ?? older?.segments(header: head) else { throw FileStorageError.notReadable }
        let opened = try SegmentedFile(file, segments)
        // Of an empty file nothing would be read that shows it to be cut off.
        if opened.size == 0 { try await opened.give(0..<0) { _ in } }
        return (opened, current == nil)
    }

    /// Decrypts a file in parse-server's format.
    ///
    /// - Parameter head: The bytes already read.
    private func decrypt(_ file: any StoredFile, _ head: [UInt8]) async throws -> (file: FileInMemory, isOlder: Bool) {
        guard file.size <= Self.mostBytes else { throw FileStorageError.notReadable }
        var sealed = head
        sealed.reserveCapacity(Int(file.size))
        try await file.give(Int64(head.count)..<file.size) { sealed += $0.readableBytesView }
        return try await Self.onThread { [sealed, cipher, older] in
            // Each encryption of a content has another: the times of some stores are whole seconds.
            let (time, tag) = (file.modified, file.entityTag.isEmpty ? nil : file.entityTag)
            if let plain = try? cipher.open(sealed) {
                return (FileInMemory(bytes: plain, modified: time, entityTag: tag), false)
            }
            guard let plain = try? older?.open(sealed) else { throw FileStorageError.notReadable }
            return (FileInMemory(bytes: plain, modified: time, entityTag: tag), true)
        }
    }

    /// Whether there is a file, readable or not.
    public func exists(name: String) async throws -> Bool { try await storage.exists(name: name) }

    /// What the client said about a file.
    public func details(name: String) async throws -> FileDetails { try await storage.details(name: name) }

    /// Removes a file.
    public func delete(name: String) async throws { try await storage.delete(name: name) }

    /// Gives the files of the storage below, with the sizes that those have in clear that are written now.
    public func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws {
        try await storage.visit(prefix: prefix) { file in
            var file = file
            let size = file.size - Int64(FileCipher.overhead)
            file.size = max(0, writesSegments ? FileSegments.plainSize(file.size) ?? size : size)
            try await use(file)
        }
    }

    /// Large files would block the event loop.
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
    private let secret: SymmetricKey

    /// A cipher with the key that belongs to a secret.
    ///
    /// parse-server takes the first 32 characters of the Base64 text of the secret's SHA-256 for the key, and so must
    /// we.
    public init(secret: String) {
        let digest = Data(SHA256.hash(data: Data(secret.utf8))).base64EncodedString()
        key = SymmetricKey(data: Data(digest.utf8.prefix(32)))
        self.secret = SymmetricKey(data: Data(secret.utf8))
    }

    func segments() throws -> FileSegments { try FileSegments(secret: secret) }

    /// What decrypts the file in segments that begins with a header; nil when it was encrypted with another key.
    func segments(header: [UInt8]) -> FileSegments? { FileSegments(secret: secret, header: header) }

    /// What a text is on the disk.
    ///
    /// - Throws: An error of the cryptographic library.
    public func seal(_ plain: [UInt8]) throws -> [UInt8] {
        Array(try sealed(ByteBuffer(bytes: plain)).readableBytesView)
    }

    /// What bytes are on the disk. They are in memory twice more on the way.
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
