/// A file in a form (`multipart/form-data`).
public struct FormFile: Sendable, Equatable {
    /// The name that the client gave it, without folders; empty for none.
    public let filename: String
    /// Its type as `type/subtype`, in lower case.
    public let contentType: String
    /// The bytes.
    public let bytes: [UInt8]

    /// The type of a file of which nobody said another.
    package static let unknownType = "application/octet-stream"

    /// Puts a file together.
    ///
    /// - Parameter path: The name with the folders that some clients put before it.
    package init(path: String, contentType: String = unknownType, bytes: [UInt8]) {
        let separator = path.utf8.lastIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        filename = separator.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        self.contentType = contentType
        self.bytes = bytes
    }
}
