public import JSON
public import OrderedCollections

/// What a client says about a file besides its bytes.
public struct FileDetails: Sendable, Equatable {
    /// Values that the client wants to find again.
    public var metadata: JSONObject
    /// Words to find the file by.
    public var tags: JSONObject
    /// The content type; only kept when the name's extension does not tell it.
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
