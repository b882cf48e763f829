import BSON
import JSON

/// Reads the objects of a JSON file: consecutive objects as mongoexport writes them, an array, or an object with an
/// array `results` as in Parse exports. Objects with an `_id` are in MongoDB's format.
final class JSONRecordReader: RecordReader {
    private enum Form { case unknown, objects, array, ended }

    private let reader: ByteReader
    private var form = Form.unknown
    private var isWrapped = false
    private var isFirst = true

    /// The maximum size of an object in bytes. Extended JSON takes more space than BSON.
    private static let largestDocument = 64 * 1024 * 1024

    init(_ reader: ByteReader) { self.reader = reader }

    var bytesRead: Int64 { reader.bytesRead }

    func next() throws -> SourceRecord? {
        guard try stepToNext() else { return nil }
        let offset = reader.offset
        guard let length = try objectLength() else {
            throw reader.damage("an object of more than \(Self.largestDocument >> 20) MB, or one without an end")
        }
        let start = reader.start
        let text = Array(reader.buffer[start..<start + length])
        reader.advance(length)
        do {
            guard let object = try JSONValue(parsing: text).objectValue else {
                return .unreadable(reason: "no object at byte \(offset)")
            }
            guard object["_id"] != nil else { return .rest(object) }
            return .mongo(ExtendedJSON.document(object))
        } catch {
            return .unreadable(reason: "\(error.reason) in the object at byte \(offset)")
        }
    }

    func skip(_ count: Int) throws {
        for _ in 0..<count {
            guard try stepToNext(), let length = try objectLength() else { return }
            reader.advance(length)
        }
    }

    /// Returns the next object's length, or nil if the object is too long or has no end.
    private func objectLength() throws -> Int? {
        var splitter = JSONSplitter()
        var searched = 0
        while true {
            let start = reader.start
            if let end = splitter.end(in: reader.buffer, from: start + searched) {
                return end - start <= Self.largestDocument ? end - start : nil
            }
            searched = reader.available
            guard searched <= Self.largestDocument, try reader.readMore() else { return nil }
        }
    }

    /// Advances to the next object. Returns false at the end.
    private func stepToNext() throws -> Bool {
        if form == .unknown { try findForm() }
        try skipSpace()
        switch form {
        case .unknown, .ended: return false
        case .objects:
            // Some tools put commas between the objects.
            while try reader.peek() == UInt8(ascii: ",") {
                reader.advance(1)
                try skipSpace()
            }
            guard let byte = try reader.peek() else { return false }
            guard byte == UInt8(ascii: "{") else { throw reader.damage("expected an object") }
            return true
        case .array: return try stepInArray()
        }
    }

    private func stepInArray() throws -> Bool {
        guard var byte = try reader.peek() else { throw reader.damage("unexpected end of file in a list") }
        if byte == UInt8(ascii: "]") {
            reader.advance(1)
            try finish()
            return false
        }
        if !isFirst {
            guard byte == UInt8(ascii: ",") else { throw reader.damage("expected a comma between objects") }
            reader.advance(1)
            try skipSpace()
            guard let next = try reader.peek() else { throw reader.damage("unexpected end of file in a list") }
            byte = next
        }
        isFirst = false
        guard byte == UInt8(ascii: "{") else { throw reader.damage("expected an object") }
        return true
    }

    private func finish() throws {
        form = .ended
        try skipSpace()
        if isWrapped {
            guard try reader.peek() == UInt8(ascii: "}") else { throw reader.damage("the object has no end") }
            reader.advance(1)
            try skipSpace()
        }
        guard try reader.peek() == nil else { throw reader.damage("unexpected data after the end") }
    }

    private func findForm() throws {
        if try reader.require(3), Array(reader.buffer[reader.start..<reader.start + 3]) == [0xEF, 0xBB, 0xBF] {
            reader.advance(3)
        }
        try skipSpace()
        guard let byte = try reader.peek() else {
            form = .ended
            return
        }
        if byte == UInt8(ascii: "[") {
            reader.advance(1)
            form = .array
            return
        }
        guard byte == UInt8(ascii: "{") else { throw reader.damage("neither an object nor a list") }
        form = .objects
        // Exports of Parse.com and Roost wrap the objects in `{ "results": [`.
        _ = try reader.require(256)
        var rest = reader.buffer[(reader.start + 1)...].prefix(255)
        for word in ["\"results\"", ":", "["] {
            rest = rest.drop { Self.isSpace($0) }
            guard rest.starts(with: word.utf8) else { return }
            rest.removeFirst(word.utf8.count)
        }
        form = .array
        isWrapped = true
        reader.advance(rest.startIndex - reader.start)
    }

    private func skipSpace() throws {
        while let byte = try reader.peek(), Self.isSpace(byte) { reader.advance(1) }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Finds the end of a JSON object without parsing it.
struct JSONSplitter {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// Scans further bytes. Returns the index after the end of the object, or nil if the object continues.
    mutating func end(in bytes: [UInt8], from start: Int) -> Int? {
        var place = start
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return place }
            default: break
            }
        }
        return nil
    }
}
