import OrderedCollections

/// A recursive-descent reader of one JSON document.
///
/// Unsafe pointers, because every byte of every request passes here: the cursor moves without bounds checks of its own.
/// Each read of a byte follows a comparison with `end`, and `read(_:maximumDepth:)` keeps the memory alive meanwhile.
struct JSONReader {
    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    var cursor: UnsafePointer<UInt8>
    /// Where strings with escapes are put together; kept, so that they share one allocation.
    var unescaped: [UInt8] = []
    private let maximumDepth: Int
    private var depth = 0

    /// Reads a whole document.
    ///
    /// - Throws: The first place where the bytes are no JSON, or are nested deeper than `maximumDepth`.
    static func read(_ bytes: UnsafeRawBufferPointer, maximumDepth: Int) throws(JSONError) -> JSONValue {
        guard let base = bytes.baseAddress else { throw JSONError(offset: 0, reason: "unexpected end") }
        let start = base.assumingMemoryBound(to: UInt8.self)
        var reader = JSONReader(start: start, count: bytes.count, maximumDepth: maximumDepth)
        return try reader.document()
    }

    private init(start: UnsafePointer<UInt8>, count: Int, maximumDepth: Int) {
        self.start = start
        self.end = start + count
        self.cursor = start
        self.maximumDepth = min(maximumDepth, JSONValue.greatestDepth)
    }

    private mutating func document() throws(JSONError) -> JSONValue {
        if end - start >= 3, start[0] == 0xEF, start[1] == 0xBB, start[2] == 0xBF { cursor += 3 }
        skipWhitespace()
        let value = try value()
        skipWhitespace()
        guard cursor == end else { throw unexpected() }
        return value
    }

    /// Reads the value that starts at the cursor.
    private mutating func value() throws(JSONError) -> JSONValue {
        guard cursor < end else { throw unexpected() }
        switch cursor.pointee {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
        case UInt8(ascii: "t"):
            try literal("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try literal("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try literal("null")
            return .null
        default: throw unexpected()
        }
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        try open()
        var elements: [JSONValue] = []
        if !skip(UInt8(ascii: "]")) {
            repeat {
                skipWhitespace()
                elements.append(try value())
                skipWhitespace()
            } while skip(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        }
        depth -= 1
        return elements
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        try open()
        var members = JSONObject()
        if !skip(UInt8(ascii: "}")) {
            repeat {
                skipWhitespace()
                guard cursor < end, cursor.pointee == UInt8(ascii: "\"") else { throw unexpected() }
                let key = try string()
                skipWhitespace()
                try expect(UInt8(ascii: ":"))
                skipWhitespace()
                members.updateValue(try value(), forKey: key)
                skipWhitespace()
            } while skip(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        }
        depth -= 1
        return members
    }

    /// Steps over an opening bracket and the whitespace after it, and counts it.
    private mutating func open() throws(JSONError) {
        guard depth < maximumDepth else { throw failure("nesting deeper than \(maximumDepth)") }
        depth += 1
        cursor += 1
        skipWhitespace()
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount { try expect(word.utf8Start[index]) }
    }

    /// Steps over the byte if it is next, and tells whether it was.
    @inline(__always)
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard cursor < end, cursor.pointee == byte else { return false }
        cursor += 1
        return true
    }

    /// Steps over the byte, which must be next.
    @inline(__always)
    private mutating func expect(_ byte: UInt8) throws(JSONError) {
        guard skip(byte) else { throw unexpected() }
    }

    @inline(__always)
    private mutating func skipWhitespace() {
        while cursor < end, cursor.pointee <= 0x20 {
            switch cursor.pointee {
            case 0x20, 0x0A, 0x0D, 0x09: cursor += 1
            default: return
            }
        }
    }

    /// The error for a byte at the cursor that does not belong there, or for the lack of one.
    @inline(never)
    func unexpected() -> JSONError {
        failure(cursor < end ? "unexpected character" : "unexpected end")
    }

    /// An error at the cursor.
    @inline(never)
    func failure(_ reason: String) -> JSONError {
        JSONError(offset: cursor - start, reason: reason)
    }
}
