import JSON

/// Parses BSON documents.
///
/// Compares every length with the remaining bytes before using it, so that malformed input can't cause reads out of
/// bounds or large allocations. Limits the nesting depth.
public struct BSONReader {
    /// Maximum nesting depth of documents and arrays. MongoDB itself allows 100.
    public static let greatestDepth = JSONValue.greatestDepthFromOutside
    /// The size of an empty document in bytes: its length and its terminator.
    public static let shortestDocument = 5

    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    /// Parses a document.
    ///
    /// - Parameters:
    ///   - bytes: The input.
    ///   - range: The bytes of the document, or nil for all.
    /// - Throws: The reason and position if the document is malformed or nested too deeply.
    public static func document(_ bytes: [UInt8], in range: Range<Int>? = nil) throws(BSONError) -> BSONDocument {
        let range = (range ?? 0..<bytes.count).clamped(to: 0..<bytes.count)
        var reader = BSONReader(bytes: bytes, position: range.lowerBound, end: range.upperBound)
        let document = try reader.document(depth: 1)
        guard reader.position == reader.end else { throw reader.failure("bytes after the document") }
        return document
    }

    /// Returns the length stored at the start of a document, or nil if fewer than four bytes remain.
    public static func length(_ bytes: [UInt8], at offset: Int = 0) -> Int? {
        guard offset >= 0, bytes.count - offset >= 4 else { return nil }
        return Int(integer(bytes, at: offset, as: Int32.self))
    }

    private static func integer<Value: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: [UInt8], at offset: Int, as type: Value.Type
    ) -> Value {
        Value(littleEndian: bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) })
    }

    private func failure(_ reason: String) -> BSONError { BSONError(offset: position, reason: reason) }

    @inline(__always)
    private func need(_ count: Int) throws(BSONError) {
        guard count >= 0, end - position >= count else { throw failure("unexpected end") }
    }

    @inline(__always)
    private mutating func byte() throws(BSONError) -> UInt8 {
        try need(1)
        position += 1
        return bytes[position - 1]
    }

    private mutating func int32() throws(BSONError) -> Int32 {
        try need(4)
        position += 4
        return Self.integer(bytes, at: position - 4, as: Int32.self)
    }

    private mutating func word() throws(BSONError) -> UInt64 {
        try need(8)
        position += 8
        return Self.integer(bytes, at: position - 8, as: UInt64.self)
    }

    private mutating func documentEnd(depth: Int) throws(BSONError) -> Int {
        guard depth <= Self.greatestDepth else { throw failure("nesting deeper than \(Self.greatestDepth)") }
        let start = position
        let length = Int(try int32())
        guard length >= Self.shortestDocument, length <= end - start else {
            position = start
            throw failure("an invalid length")
        }
        return start + length
    }

    private mutating func document(depth: Int) throws(BSONError) -> BSONDocument {
        let last = try documentEnd(depth: depth)
        var document = BSONDocument()
        while let type = try nextType(before: last) {
            let key = try key()
            document.members.append(BSONDocument.Member(key, try value(type, depth: depth)))
        }
        return document
    }

    private mutating func array(depth: Int) throws(BSONError) -> [BSONValue] {
        let last = try documentEnd(depth: depth)
        var elements: [BSONValue] = []
        while let type = try nextType(before: last) {
            // The keys of array elements are their indices, so they can be skipped.
            try skipKey()
            elements.append(try value(type, depth: depth))
        }
        return elements
    }

    private mutating func nextType(before last: Int) throws(BSONError) -> UInt8? {
        let type = try byte()
        guard type == 0 else { return type }
        guard position == last else { throw failure("a truncated document") }
        return nil
    }

    private func terminator() throws(BSONError) -> Int {
        var place = position
        while place < end {
            if bytes[place] == 0 { return place }
            place += 1
        }
        throw failure("an unterminated key")
    }

    private mutating func skipKey() throws(BSONError) { position = try terminator() + 1 }

    private mutating func key() throws(BSONError) -> Name {
        let last = try terminator()
        guard let text = String(validating: bytes[position..<last], as: UTF8.self) else {
            throw failure("a key that is not UTF-8")
        }
        position = last + 1
        return Name(text)
    }

    /// Reads a length-prefixed string. The text is nil if it isn't valid UTF-8.
    private mutating func text() throws(BSONError) -> (text: String?, bytes: Range<Int>) {
        let length = Int(try int32())
        guard length >= 1 else { throw failure("an invalid length") }
        try need(length)
        let range = position..<position + length - 1
        guard bytes[range.upperBound] == 0 else { throw failure("an unterminated string") }
        position += length
        return (String(validating: bytes[range], as: UTF8.self), range)
    }

    private mutating func wellFormedText() throws(BSONError) -> String {
        guard let text = try text().text else { throw failure("a string that is not UTF-8") }
        return text
    }

    private mutating func objectID() throws(BSONError) -> BSONObjectID {
        try need(12)
        guard let id = BSONObjectID(bytes[position..<position + 12]) else { throw failure("unexpected end") }
        position += 12
        return id
    }

    private mutating func value(_ type: UInt8, depth: Int) throws(BSONError) -> BSONValue {
        switch type {
        case 0x01: return .double(Double(bitPattern: try word()))
        case 0x02:
            let (text, range) = try text()
            return text.map { .string($0) } ?? .malformedText(Array(bytes[range]))
        case 0x03: return .document(try document(depth: depth + 1))
        case 0x04: return .array(try array(depth: depth + 1))
        case 0x05: return try binary()
        case 0x06: return .undefined
        case 0x07: return .objectID(try objectID())
        case 0x08:
            switch try byte() {
            case 0: return .bool(false)
            case 1: return .bool(true)
            default: throw failure("an invalid boolean")
            }
        case 0x09: return .date(Int64(bitPattern: try word()))
        case 0x0A: return .null
        case 0x0B: return .regularExpression(pattern: try key().text, options: try key().text)
        case 0x0C: return .dbPointer(collection: try wellFormedText(), try objectID())
        case 0x0D: return .code(try wellFormedText())
        case 0x0E: return .symbol(try wellFormedText())
        case 0x0F: return try codeWithScope(depth: depth)
        case 0x10: return .int32(try int32())
        case 0x11: return .timestamp(try word())
        case 0x12: return .int64(Int64(bitPattern: try word()))
        case 0x13:
            let low = try word()
            return .decimal128(BSONDecimal(low: low, high: try word()))
        case 0xFF: return .minKey
        case 0x7F: return .maxKey
        default: throw failure("an unknown BSON type")
        }
    }

    private mutating func binary() throws(BSONError) -> BSONValue {
        var length = Int(try int32())
        let subtype = try byte()
        try need(length)
        // The old binary subtype repeats the length.
        if subtype == 2 {
            let inner = Int(try int32())
            guard inner == length - 4 else { throw failure("an invalid length") }
            length = inner
        }
        try need(length)
        position += length
        return .binary(subtype: subtype, Array(bytes[position - length..<position]))
    }

    private mutating func codeWithScope(depth: Int) throws(BSONError) -> BSONValue {
        let start = position
        let length = Int(try int32())
        let code = try wellFormedText()
        let scope = try document(depth: depth + 1)
        guard position - start == length else { throw failure("an invalid length") }
        return .codeWithScope(code, scope)
    }
}

/// The reason and position of a syntax error in BSON.
public struct BSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The zero-based offset in bytes of the error.
    public var offset: Int
    public var reason: String

    public var description: String { "\(reason) at byte \(offset)" }
}
