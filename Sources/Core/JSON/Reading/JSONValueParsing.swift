extension JSONValue {
    /// Reads one JSON document, strictly by RFC 8259. A byte order mark at the start is skipped.
    ///
    /// Of a key that appears twice in an object, the last value wins, at the first place. A surrogate that is escaped
    /// without its other half becomes U+FFFD, because UTF-8 cannot hold it. `\u0000` is accepted.
    ///
    /// - Parameters:
    ///   - bytes: The whole document in UTF-8. It is read in place when it is stored contiguously, else from a copy.
    ///   - maximumDepth: How many arrays and objects may be open at once, `[]` being one. More than
    ///     `greatestDepth` counts as that.
    /// - Throws: Where the document breaks the grammar or a limit.
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

    /// Reads one JSON document, as ``init(parsing:maximumDepth:)-(Sequence<UInt8>,_)`` does.
    public init(parsing bytes: [UInt8], maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { (buffer) throws(JSONError) in
            try JSONReader.read(UnsafeRawBufferPointer(buffer), maximumDepth: maximumDepth)
        }
    }

    /// Reads one JSON document, as ``init(parsing:maximumDepth:)-(Sequence<UInt8>,_)`` does.
    public init(parsing bytes: UnsafeRawBufferPointer, maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        self = try JSONReader.read(bytes, maximumDepth: maximumDepth)
    }

    /// Reads one JSON document, as ``init(parsing:maximumDepth:)-(Sequence<UInt8>,_)`` does.
    public init(parsing text: String, maximumDepth: Int = JSONValue.greatestDepth) throws(JSONError) {
        try self.init(parsing: text.utf8, maximumDepth: maximumDepth)
    }

    /// The deepest nesting that is ever read, whatever a caller asks for.
    ///
    /// Reading does not recurse, but comparing, hashing, writing and freeing a value do, and a thread may have as
    /// little as 512 KB of stack. In builds without optimization a level takes close to 1 KB.
    public static let greatestDepth = 256

    /// How deep a value may be nested that comes from outside, in a request or piece by piece into a field. What stands
    /// around it when it is stored, answered or handed to cloud code has the levels that are left.
    public static let greatestDepthFromOutside = 200
}
