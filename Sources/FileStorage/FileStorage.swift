public import JSON
public import NIOCore
public import OrderedCollections

/// A place for uploaded files. A new one is a type with these methods, and a line where the server is put together.
public protocol FileStorage: Sendable {
    /// Whether opening a file takes all of it into memory.
    var holdsWholeFiles: Bool { get }

    /// Makes sure that files can be stored, before the first request.
    ///
    /// - Throws: The storage's error when that is not possible.
    func prepare() async throws

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
    /// - Parameter name: The name under which it was stored.
    /// - Throws: ``FileStorageError/notReadable``, or the storage's error.
    func open(name: String) async throws -> (any StoredFile)?

    /// Whether there is a file of a name.
    ///
    /// - Throws: The storage's error.
    func exists(name: String) async throws -> Bool

    /// What the client said about a file when it was stored; empty details if it said nothing.
    func details(name: String) async throws -> FileDetails

    /// Removes a file and what was said about it.
    ///
    /// - Throws: ``FileStorageError/notFound``, or the storage's error.
    func delete(name: String) async throws
}

extension FileStorage {
    /// Most do not.
    public var holdsWholeFiles: Bool { false }

    /// Whether it can be opened.
    public func exists(name: String) async throws -> Bool { try await open(name: name) != nil }

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
}

/// A sequence of a single buffer.
struct OneBuffer: AsyncSequence, Sendable {
    var bytes: [UInt8]

    struct AsyncIterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async -> ByteBuffer? {
            defer { bytes = nil }
            return bytes.map { ByteBuffer(bytes: $0) }
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(bytes: bytes)
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
