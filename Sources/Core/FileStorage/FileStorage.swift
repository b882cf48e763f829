public import JSON
public import NIOCore
public import OrderedCollections

/// Stores uploaded files. To add a storage, implement this protocol and add the type where the server is assembled.
public protocol FileStorage: Sendable {
    /// Maximum memory in bytes that a file occupies while it is written: 0 if its bytes are forwarded immediately, or
    /// `Int.max` if it is in memory as a whole.
    var memoryOfWrites: Int { get }

    /// Returns a URL for downloading a file directly, or nil if clients must download it through the server. The
    /// function itself is nil if the storage has no direct URLs. It must not block, since it runs while rows are
    /// encoded.
    var location: (@Sendable (_ name: String) -> String?)? { get }

    /// Prepares the storage before the first request. Checks that need a remote server may be deferred to ``tend()``.
    ///
    /// - Throws: The storage's error if the server must not start.
    func prepare() async throws

    /// Performs the checks deferred by ``prepare()``, then removes the remains of interrupted uploads until cancelled.
    func tend() async

    /// Closes the storage, which must not be used afterward.
    func shutdown() async

    /// Checks before an upload's body is read that the storage isn't known to be unreachable.
    ///
    /// - Throws: ``FileStorageError/unavailable(retryAfter:)`` if it is.
    func checkAvailable() throws

    /// Whether the storage counts as down: its latest requests failed, and no later request has shown that it works.
    var isOutOfReach: Bool { get }

    /// Stores a file, replacing any file of the same name. Readers see the new file only after it is stored completely.
    ///
    /// - Parameters:
    ///   - name: The unique name, possibly with folders.
    ///   - details: Metadata sent by the client.
    ///   - contents: The bytes. If the sequence throws, nothing is stored.
    /// - Throws: ``FileStorageError/unusableName``, the sequence's error, or the storage's error.
    func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
    where Contents.Element == ByteBuffer

    /// Opens a file for reading, or returns nil if it doesn't exist.
    ///
    /// - Parameters:
    ///   - name: The name of the stored file.
    ///   - wish: The parts to be read, so that a remote storage needs only one request.
    /// - Throws: ``FileStorageError/notReadable``, ``FileStorageError/unavailable(retryAfter:)``, or the storage's
    ///   error.
    func open(name: String, for wish: FileWish) async throws -> (any StoredFile)?

    /// Whether a file of this name exists.
    ///
    /// - Throws: The storage's error.
    func exists(name: String) async throws -> Bool

    /// Returns the details stored with a file, which are empty if the client sent none or the file doesn't exist.
    func details(name: String) async throws -> FileDetails

    /// Deletes a file and its details.
    ///
    /// - Throws: ``FileStorageError/notFound`` if the storage detects that the file is missing, or the storage's error.
    func delete(name: String) async throws

    /// Visits the files whose names begin with a prefix, in no particular order, without loading the whole list.
    ///
    /// - Throws: The errors of `use`, or the storage's error.
    func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws
}

extension FileStorage {
    public var memoryOfWrites: Int { 0 }
    public var location: (@Sendable (_ name: String) -> String?)? { nil }
    public func tend() async {}
    public func shutdown() async {}
    public func checkAvailable() throws {}
    public var isOutOfReach: Bool { false }

    /// Opens a whole file for reading, or returns nil if it doesn't exist.
    public func open(name: String) async throws -> (any StoredFile)? { try await open(name: name, for: FileWish()) }

    public func exists(name: String) async throws -> Bool {
        try await open(name: name, for: FileWish(isHeadOnly: true)) != nil
    }

    /// Stores a file from memory.
    public func write(name: String, details: FileDetails = FileDetails(), bytes: [UInt8]) async throws {
        try await write(name: name, details: details, contents: OneBuffer(buffer: ByteBuffer(bytes: bytes)))
    }
}

/// The reason why a file storage can't perform an operation.
public enum FileStorageError: Error, Sendable, Equatable, CustomStringConvertible {
    case notFound
    /// The storage doesn't allow the name, for example because it is empty, too long, or begins with a dot.
    case unusableName
    /// The file can't be decrypted: it was encrypted with another key, isn't encrypted, or was changed.
    case notReadable
    /// The storage is unreachable or overloaded. Retry after this number of seconds.
    case unavailable(retryAfter: Int)
    /// The storage rejected the request. Remote storages log the reason.
    case refused
    /// The storage can't store the details, or it is full. The value is the reason, for the client.
    case detailsNotKept(String)

    public var description: String {
        switch self {
        case .notFound: "the file doesn't exist"
        case .unusableName: "the storage doesn't allow this file name"
        case .notReadable: "the file can't be decrypted: it was encrypted with another key, or is damaged"
        case .unavailable(let seconds): "the storage can't be reached. Try again in \(seconds) seconds"
        case .refused: "the storage rejected the request. See the log for the reason"
        case .detailsNotKept(let reason): reason
        }
    }
}

/// The range and conditions of a read, known before the file is opened.
public struct FileWish: Sendable {
    /// The value of the client's `Range` header, or nil for the whole file.
    public var range: String?
    /// The value of the client's `If-None-Match` header, or nil if the client sent none.
    public var knownVersions: String?
    /// Whether only the file's properties are needed.
    public var isHeadOnly: Bool

    public init(range: String? = nil, knownVersions: String? = nil, isHeadOnly: Bool = false) {
        self.range = range
        self.knownVersions = knownVersions
        self.isHeadOnly = isHeadOnly
    }
}

/// A file in a listing.
public struct ListedFile: Sendable, Equatable {
    public var name: String
    /// The size in bytes.
    public var size: Int64
    /// The time of the last write.
    public var modified: FileTime

    public init(name: String, size: Int64, modified: FileTime) {
        self.name = name
        self.size = size
        self.modified = modified
    }
}

struct OneBuffer: AsyncSequence, Sendable {
    let buffer: ByteBuffer

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var buffer: ByteBuffer?

        mutating func next() async -> ByteBuffer? { buffer.take() }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(buffer: buffer)
    }
}

/// Metadata that a client sends with a file.
public struct FileDetails: Sendable, Equatable {
    /// Key-value pairs stored with the file.
    public var metadata: JSONObject
    /// Key-value pairs for finding the file.
    public var tags: JSONObject
    /// The MIME type, or nil if the file's extension implies it or it is unknown.
    public var contentType: String?

    public init(metadata: JSONObject = [:], tags: JSONObject = [:], contentType: String? = nil) {
        self.metadata = metadata
        self.tags = tags
        self.contentType = contentType
    }

    public var isEmpty: Bool {
        metadata.isEmpty && tags.isEmpty && contentType == nil
    }

    /// Parses the output of ``serialized()``. Invalid input results in empty details.
    public init(parsing bytes: [UInt8]) {
        self.init()
        guard case .object(let object)? = try? JSONValue(parsing: bytes) else { return }
        if case .object(let metadata)? = object["metadata"] { self.metadata = metadata }
        if case .object(let tags)? = object["tags"] { self.tags = tags }
        if case .string(let contentType)? = object["contentType"] { self.contentType = contentType }
    }

    /// Returns the details as JSON, in the format of file stores and exports.
    public func serialized() -> [UInt8] {
        var object: JSONObject = ["metadata": .object(metadata), "tags": .object(tags)]
        if let contentType { object["contentType"] = .string(contentType) }
        return JSONValue.object(object).serialized()
    }
}
