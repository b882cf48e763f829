public import JSON
public import NIOCore
public import OrderedCollections

/// A place for uploaded files. A new one is a type with these methods, and a line where the server is put together.
public protocol FileStorage: Sendable {
    /// Whether opening a file takes all of it into memory.
    var holdsWholeFiles: Bool { get }

    /// How many bytes a file that is stored takes in memory at most until it is; 0 where they go on at once.
    var memoryOfWrites: Int { get }

    /// Gives the address at which clients reach a file without the server, nil for one that they do not; nil where they reach
    /// none. It is asked while rows are written, and waits for nothing.
    var location: (@Sendable (_ name: String) -> String?)? { get }

    /// Makes sure that files can be stored, before the first request. A storage on another machine may be out of reach for
    /// now: that is logged, and keeps no server from its start.
    ///
    /// - Throws: The storage's error when that is not possible.
    func prepare() async throws

    /// Looks after the storage, until the task is cancelled: removes what uploads left that were cut off.
    func tend() async

    /// Closes what the storage has open; it is not used after that.
    func shutdown() async

    /// Refuses an upload before its body is read.
    ///
    /// - Throws: ``FileStorageError/unavailable(retryAfter:)`` when the storage cannot be reached.
    func checkAvailable() throws

    /// Whether the storage has not answered lately, and nothing has been heard of it since.
    var isOutOfReach: Bool { get }

    /// Stores a file, replacing one of the same name. The file is visible only when all of it is safe.
    ///
    /// - Parameters:
    ///   - name: The name under which it is found again; it may have folders.
    ///   - details: What the client says about it.
    ///   - contents: The bytes. When the sequence throws, nothing is stored.
    /// - Throws: ``FileStorageError/unusableName``, the sequence's error, or the storage's.
    func write<Contents: AsyncSequence>(name: String, details: FileDetails, contents: Contents) async throws
    where Contents.Element == ByteBuffer

    /// Opens a file for reading; nil if there is none.
    ///
    /// - Parameters:
    ///   - name: The name under which it was stored.
    ///   - wish: What will be read of it, so that a storage on another machine is asked once.
    /// - Throws: ``FileStorageError/notReadable``, ``FileStorageError/unavailable(retryAfter:)``, or the storage's error.
    func open(name: String, for wish: FileWish) async throws -> (any StoredFile)?

    /// Whether there is a file of a name.
    ///
    /// - Throws: The storage's error.
    func exists(name: String) async throws -> Bool

    /// What the client said about a file when it was stored; empty details if it said nothing.
    func details(name: String) async throws -> FileDetails

    /// Removes a file and what was said about it.
    ///
    /// - Throws: ``FileStorageError/notFound``, which a storage need not know, or the storage's error.
    func delete(name: String) async throws

    /// Gives the files whose names begin with a text, in no certain order, without holding them all.
    ///
    /// - Throws: What `use` throws, or the storage's error.
    func visit(prefix: String, _ use: (ListedFile) async throws -> Void) async throws
}

extension FileStorage {
    /// Most do not.
    public var holdsWholeFiles: Bool { false }
    /// None in most.
    public var memoryOfWrites: Int { 0 }
    /// Clients go through the server with most.
    public var location: (@Sendable (_ name: String) -> String?)? { nil }
    /// Most need nothing.
    public func tend() async {}
    /// Most have nothing open.
    public func shutdown() async {}
    /// Most are always there.
    public func checkAvailable() throws {}
    /// Most are always there.
    public var isOutOfReach: Bool { false }

    /// Opens a file for reading; nil if there is none.
    public func open(name: String) async throws -> (any StoredFile)? { try await open(name: name, for: FileWish()) }

    /// Whether it can be opened.
    public func exists(name: String) async throws -> Bool {
        try await open(name: name, for: FileWish(isHeadOnly: true)) != nil
    }

    /// Stores a file whose bytes are in memory.
    public func write(name: String, details: FileDetails = FileDetails(), bytes: [UInt8]) async throws {
        try await write(name: name, details: details, contents: OneBuffer(bytes: bytes))
    }
}

/// Why a storage refuses.
public enum FileStorageError: Error, Sendable, Equatable {
    /// No file has this name.
    case notFound
    /// A file cannot have this name here: it is empty, begins with a dot, or is longer than the storage allows.
    case unusableName
    /// It was encrypted with another key, or not at all, or changed since.
    case notReadable
    /// The storage cannot be reached now, or has more to do than it can. A further try makes sense after so many seconds.
    case unavailable(retryAfter: Int)
    /// The storage does not do it: the operator finds the reason in the log.
    case refused
    /// What was said about a file does not fit: so much may be said, in words for the client.
    case detailsNotKept(String)
}

extension FileStorageError: CustomStringConvertible {
    /// The message for the operator.
    public var description: String {
        switch self {
        case .notFound: "there is no such file"
        case .unusableName: "the storage keeps no file of this name"
        case .notReadable: "the file cannot be read: it was encrypted with another key, or changed"
        case .unavailable(let seconds): "the storage cannot be reached; try again in \(seconds) seconds"
        case .refused: "the storage refuses it; the log has the reason"
        case .detailsNotKept(let reason): reason
        }
    }
}

/// What is wanted of a file that is opened.
public struct FileWish: Sendable {
    /// The bytes, as a client asks for them in the header field `Range`; nil for all.
    public var range: String?
    /// The versions that the client has, as the header field `If-None-Match` names them; nil for none.
    public var knownVersions: String?
    /// Whether no bytes are wanted.
    public var isHeadOnly: Bool

    /// Wants all of a file, or less.
    public init(range: String? = nil, knownVersions: String? = nil, isHeadOnly: Bool = false) {
        self.range = range
        self.knownVersions = knownVersions
        self.isHeadOnly = isHeadOnly
    }
}

/// A listed file.
public struct ListedFile: Sendable, Equatable {
    /// The name under which it was stored.
    public var name: String
    /// Its size in bytes.
    public var size: Int64
    /// When it was last written.
    public var modified: FileTime

    public init(name: String, size: Int64, modified: FileTime) {
        self.name = name
        self.size = size
        self.modified = modified
    }
}

struct OneBuffer: AsyncSequence, Sendable {
    private let buffer: ByteBuffer

    init(_ buffer: ByteBuffer) { self.buffer = buffer }

    init(bytes: [UInt8]) { buffer = ByteBuffer(bytes: bytes) }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var buffer: ByteBuffer?

        mutating func next() async -> ByteBuffer? {
            defer { buffer = nil }
            return buffer
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(buffer: buffer)
    }
}

/// What a client says about a file besides its bytes.
public struct FileDetails: Sendable, Equatable {
    /// Values that the client wants to find again.
    public var metadata: JSONObject
    /// Words to find the file by.
    public var tags: JSONObject
    /// The content type; only kept when the name's extension does not imply it.
    public var contentType: String?

    /// Describes a file; empty when nothing is given.
    public init(metadata: JSONObject = [:], tags: JSONObject = [:], contentType: String? = nil) {
        self.metadata = metadata
        self.tags = tags
        self.contentType = contentType
    }

    /// Whether nothing is said.
    public var isEmpty: Bool {
        metadata.isEmpty && tags.isEmpty && contentType == nil
    }

    /// Reads what ``serialized()`` wrote; anything else counts as nothing said.
    public init(parsing bytes: [UInt8]) {
        self.init()
        guard case .object(let object)? = try? JSONValue(parsing: bytes) else { return }
        if case .object(let metadata)? = object["metadata"] { self.metadata = metadata }
        if case .object(let tags)? = object["tags"] { self.tags = tags }
        if case .string(let contentType)? = object["contentType"] { self.contentType = contentType }
    }

    /// The details as JSON text, as they lie beside a file on the disk.
    public func serialized() -> [UInt8] {
        var object: JSONObject = ["metadata": .object(metadata), "tags": .object(tags)]
        if let contentType { object["contentType"] = .string(contentType) }
        return JSONValue.object(object).serialized()
    }
}
