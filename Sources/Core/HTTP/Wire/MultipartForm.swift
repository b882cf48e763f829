import Encoding
import JSON

/// The parts of a `multipart/form-data` body (RFC 7578). Bodies that parsers could interpret differently are rejected.
package struct MultipartForm {
    /// The parts without a file name, as strings.
    package private(set) var fields: JSONObject = [:]
    /// The parts with a file name.
    package private(set) var files: [Name: FormFile] = [:]

    package static let maxParts = 32
    package static let maxHeaderBytes = 8192

    private let bytes: [UInt8]
    private var position = 0

    /// Parses a body.
    ///
    /// - Parameters:
    ///   - bytes: The whole body.
    ///   - contentType: The content type with the boundary.
    /// - Throws: ``HTTPError`` 400 for a malformed body, a repeated name, too many parts, or NUL in a name or text.
    package init(_ bytes: [UInt8], contentType: String) throws(HTTPError) {
        self.bytes = bytes
        let delimiter = Self.dashes + (try Self.boundary(of: contentType))
        if bytes.starts(with: delimiter) {
            position = delimiter.count
        } else {
            _ = try content(before: Self.lineEnd + delimiter)
        }
        var count = 0
        while try !isLastDelimiter() {
            count += 1
            guard count <= Self.maxParts else { throw Self.malformed("it has more than \(Self.maxParts) parts") }
            let (parameters, contentType) = try header()
            let content = try content(before: Self.lineEnd + delimiter)
            try add(bytes[content], parameters, contentType)
        }
    }

    private static let dashes = Array("--".utf8)
    private static let lineEnd = Array("\r\n".utf8)

    private static func malformed(_ reason: String) -> HTTPError {
        HTTPError(status: 400, message: "Invalid multipart request: \(reason).")
    }

    /// RFC 2046 restricts the length and the characters of a boundary.
    private static func boundary(of contentType: String) throws(HTTPError) -> [UInt8] {
        let marks = Array("'()+_,-./:=? ".utf8)
        guard let boundary = HeaderParameters(contentType.utf8)?.parameters["boundary"].map({ Array($0.utf8) }),
            (1...70).contains(boundary.count), boundary.last != UInt8(ascii: " "),
            boundary.allSatisfy({ $0.isASCIIAlphanumeric || marks.contains($0) })
        else { throw malformed("the boundary is missing or invalid") }
        return boundary
    }

    private mutating func content(before delimiter: [UInt8]) throws(HTTPError) -> Range<Int> {
        let start = position
        var candidate = start
        while let found = bytes[candidate...].firstIndex(of: delimiter[0]) {
            if bytes[found...].starts(with: delimiter) {
                position = found + delimiter.count
                return start..<found
            }
            candidate = found + 1
        }
        throw Self.malformed("it ends before its last boundary")
    }

    /// Skips the line end after a delimiter that isn't the last one.
    private mutating func isLastDelimiter() throws(HTTPError) -> Bool {
        if bytes[position...].starts(with: Self.dashes) { return true }
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") || bytes[position] == UInt8(ascii: "\t") {
            position += 1
        }
        guard bytes[position...].starts(with: Self.lineEnd) else {
            throw Self.malformed("a boundary is not followed by a line break")
        }
        position += Self.lineEnd.count
        return false
    }

    private mutating func header() throws(HTTPError) -> (parameters: [Name: String], contentType: String) {
        let end = min(position + Self.maxHeaderBytes, bytes.count)
        var disposition: HeaderParameters?
        var contentType: String?
        while true {
            let line = try line(upTo: end)
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                let name = String(validating: line[..<colon], as: UTF8.self)?.asciiLowercased
            else { throw Self.malformed("a part has an invalid header line") }
            let value = line[(colon + 1)...]
            switch name {
            case "content-disposition":
                guard disposition == nil, let parsed = HeaderParameters(value) else {
                    throw Self.malformed("a part has an invalid Content-Disposition")
                }
                disposition = parsed
            case "content-type":
                guard contentType == nil else { throw Self.malformed("a part has two Content-Type headers") }
                contentType = MediaType(String(decoding: value, as: UTF8.self))?.essence ?? FormFile.unknownType
            case "content-transfer-encoding":
                let encoding = String(decoding: value, as: UTF8.self).trimmingSpaces().asciiLowercased
                guard ["7bit", "8bit", "binary"].contains(encoding) else {
                    throw Self.malformed("a part has an unsupported transfer encoding")
                }
            default: break
            }
        }
        guard let disposition, disposition.value == "form-data" else {
            throw Self.malformed("a part has no Content-Disposition")
        }
        return (disposition.parameters, contentType ?? FormFile.unknownType)
    }

    private mutating func line(upTo end: Int) throws(HTTPError) -> ArraySlice<UInt8> {
        // The whole line end must be before the limit, or the next line would begin after it.
        guard let carriageReturn = bytes[position..<end].firstIndex(of: UInt8(ascii: "\r")),
            bytes[carriageReturn..<end].starts(with: Self.lineEnd)
        else { throw Self.malformed("a part's header is unterminated or too long") }
        defer { position = carriageReturn + Self.lineEnd.count }
        return bytes[position..<carriageReturn]
    }

    private mutating func add(
        _ content: ArraySlice<UInt8>, _ parameters: [Name: String], _ contentType: String
    ) throws(HTTPError) {
        guard let name = parameters["name"], !name.isEmpty, fields[name] == nil, files[name] == nil else {
            throw Self.malformed("a part has no name or a duplicate name")
        }
        guard !name.utf8.contains(0) else { throw JSONBody.nullCharacter }
        if let path = parameters["filename"] {
            guard !path.utf8.contains(0) else { throw JSONBody.nullCharacter }
            files[name] = FormFile(path: path, contentType: contentType, bytes: Array(content))
            return
        }
        guard let text = String(validating: content, as: UTF8.self) else {
            throw Self.malformed("a text field is not valid UTF-8")
        }
        guard !text.utf8.contains(0) else { throw JSONBody.nullCharacter }
        fields[name] = .string(text)
    }
}

/// A file in a form (`multipart/form-data`).
public struct FormFile: Sendable, Equatable {
    /// The file name that the client sent, without folders. May be empty.
    public let filename: String
    /// The media type as `type/subtype`, in lower case.
    public let contentType: String
    public let bytes: [UInt8]

    /// The media type of files without a declared one.
    package static let unknownType = "application/octet-stream"

    /// - Parameter path: The file name, with the folders that some clients include.
    package init(path: String, contentType: String = unknownType, bytes: [UInt8]) {
        let separator = path.utf8.lastIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
        filename = separator.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        self.contentType = contentType
        self.bytes = bytes
    }
}
