extension JSONValue {
    /// Parses one JSON document, strictly by RFC 8259. A leading byte order mark is skipped.
    ///
    /// If an object contains a key twice, the last value is used, at the position of the first. An unpaired surrogate
    /// escape becomes U+FFFD, because UTF-8 can't represent it. `\u0000` is accepted.
    ///
    /// - Parameters:
    ///   - bytes: The document in UTF-8. Copied only if it isn't stored contiguously.
    ///   - maximumDepth: Maximum number of nested arrays and objects (`[]` counts as one), at most `greatestDepth`.
    /// - Throws: The reason and position of a syntax error or an exceeded limit.
    public init(parsing bytes: some Sequence<UInt8>, maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        let inPlace = bytes.withContiguousStorageIfAvailable { buffer in
            Result { () throws(JSONError) in
                try JSONReader.read(UnsafeRawBufferPointer(buffer), maximumDepth: maximumDepth)
            }
        }
        if let inPlace {
            self = try inPlace.get()
        } else {
            self = try ContiguousArray(bytes).withUnsafeBufferPointer { (buffer) throws(JSONError) in
                try JSONReader.read(UnsafeRawBufferPointer(buffer), maximumDepth: maximumDepth)
            }
        }
    }

    /// Parses one JSON document, like ``init(parsing:maximumDepth:)-(Sequence<UInt8>,_)``.
    public init(parsing bytes: UnsafeRawBufferPointer, maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        self = try JSONReader.read(bytes, maximumDepth: maximumDepth)
    }

    /// Parses one JSON document, like ``init(parsing:maximumDepth:)-(Sequence<UInt8>,_)``.
    public init(parsing text: String, maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        try self.init(parsing: text.utf8, maximumDepth: maximumDepth)
    }

    /// Maximum nesting depth for parsing, which callers can't exceed.
    ///
    /// Comparing, hashing, writing and freeing values are recursive, and a thread may have as little as 512 KB of
    /// stack. Unoptimized builds use about 1 KB per level.
    public static let greatestDepth = 256

    /// Maximum nesting depth of values in requests and imports. The remaining levels are left for the structures that
    /// surround a value when it is stored, sent or passed to cloud code.
    public static let greatestDepthFromOutside = 200
}
