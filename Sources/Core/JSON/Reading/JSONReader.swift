import OrderedCollections

/// Parses one JSON document.
///
/// The parser isn't recursive: open containers, their keys and their values are on separate stacks until the closing
/// bracket determines the size of the collection, which is then allocated once.
///
/// Uses unsafe pointers, because every byte of every JSON body is read here. Each read follows a comparison with `end`,
/// and callers of `read(_:maximumDepth:)` keep the memory alive.
struct JSONReader: ~Copyable {
    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    var cursor: UnsafePointer<UInt8>
    /// A buffer for strings with escapes, reused to save allocations.
    var unescaped: [UInt8] = []

    private let maximumDepth: Int
    private var containers: [Container] = []
    /// The finished values of open containers, outermost first.
    private var values = MoveStack<JSONValue>(capacity: 32)
    /// The keys of open objects, including those whose values aren't finished.
    private var keys = MoveStack<Name>(capacity: 32)

    private struct Container {
        var isObject: Bool
        /// The number of finished values when the container was opened.
        var firstValue: Int
    }

    /// Parses a whole document.
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
        repeat { try value() } while try anotherValueFollows()
        skipWhitespace()
        guard cursor == end else { throw unexpected() }
        return values.moveLast(1) { $0.move() }
    }

    /// Reads the value at the cursor if it's a scalar or an empty container. Otherwise opens containers up to the first
    /// such value.
    private mutating func value() throws(JSONError) {
        while true {
            guard cursor < end else { throw unexpected() }
            switch cursor.pointee {
            case UInt8(ascii: "\""): return values.push(.string(try string()))
            case UInt8(ascii: "{"):
                try open(isObject: true)
                if skip(UInt8(ascii: "}")) { return close() }
                try key()
            case UInt8(ascii: "["):
                try open(isObject: false)
                if skip(UInt8(ascii: "]")) { return close() }
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return values.push(.number(try number()))
            case UInt8(ascii: "t"):
                try literal("true")
                return values.push(.bool(true))
            case UInt8(ascii: "f"):
                try literal("false")
                return values.push(.bool(false))
            case UInt8(ascii: "n"):
                try literal("null")
                return values.push(.null)
            default: throw unexpected()
            }
        }
    }

    /// Advances from the end of a value to the next, closing containers that end in between.
    ///
    /// - Returns: False at the end of the outermost value.
    private mutating func anotherValueFollows() throws(JSONError) -> Bool {
        while let container = containers.last {
            skipWhitespace()
            if skip(UInt8(ascii: ",")) {
                skipWhitespace()
                if container.isObject { try key() }
                return true
            }
            try expect(container.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            close()
        }
        return false
    }

    private mutating func key() throws(JSONError) {
        guard cursor < end, cursor.pointee == UInt8(ascii: "\"") else { throw unexpected() }
        keys.push(Name(try string()))
        skipWhitespace()
        try expect(UInt8(ascii: ":"))
        skipWhitespace()
    }

    private mutating func open(isObject: Bool) throws(JSONError) {
        guard containers.count < maximumDepth else { throw failure("nesting deeper than \(maximumDepth)") }
        containers.append(Container(isObject: isObject, firstValue: values.count))
        cursor += 1
        skipWhitespace()
    }

    private mutating func close() {
        let container = containers.removeLast()
        let count = values.count - container.firstValue
        values.push(container.isObject ? .object(popObject(count)) : .array(values.popArray(count)))
    }

    private mutating func popObject(_ count: Int) -> JSONObject {
        guard count > 0 else { return JSONObject() }
        var members = JSONObject(minimumCapacity: count)
        keys.moveLast(count) { keys in
            values.moveLast(count) { values in
                for index in 0..<count {
                    members.updateValue((values + index).move(), forKey: (keys + index).move())
                }
            }
        }
        return members
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount { try expect(word.utf8Start[index]) }
    }

    @inline(__always)
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard cursor < end, cursor.pointee == byte else { return false }
        cursor += 1
        return true
    }

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

    /// Returns the error for an invalid byte at the cursor, or for the end of the input.
    @inline(never)
    func unexpected() -> JSONError {
        failure(cursor < end ? "unexpected character" : "unexpected end")
    }

    @inline(never)
    func failure(_ reason: String) -> JSONError {
        JSONError(offset: cursor - start, reason: reason)
    }
}

/// The reason and position of a JSON syntax error or an exceeded limit.
///
/// Reasons, such as `unexpected end` and `invalid UTF-8`, don't quote the input.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The zero-based byte offset of the error.
    public var offset: Int
    public var reason: String

    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    public var description: String { "\(reason) at byte \(offset)" }
}
