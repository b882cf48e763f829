/// A writer of compact JSON that appends to a buffer of bytes.
///
/// It writes tokens and leaves commas, colons and brackets to its caller, who knows the shape of what is written:
///
///     var writer = JSONWriter()
///     writer.raw("{\"name\":")
///     writer.string(name)
///     writer.byte(UInt8(ascii: "}"))
///
/// A token is appended without an allocation of its own; the one exception is a number that needs 16 or 17 digits.
public struct JSONWriter: Sendable {
    /// What has been written so far.
    public var bytes: [UInt8]

    /// Makes a writer with an empty buffer that holds `capacity` bytes before it grows.
    public init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Appends one byte as it is.
    @inlinable
    public mutating func byte(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends bytes as they are; they must make sense as JSON in their place.
    @inlinable
    public mutating func raw(_ bytes: some Collection<UInt8>) {
        self.bytes.append(contentsOf: bytes)
    }

    /// Appends bytes as they are; they must make sense as JSON in their place.
    @inlinable
    public mutating func raw(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { self.bytes.append(contentsOf: $0) }
    }

    /// Appends a literal of the program as it is.
    @inlinable
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Appends bytes as they are; they must make sense as JSON in their place.
    @inlinable
    public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        bytes.withMemoryRebound(to: UInt8.self) { self.bytes.append(contentsOf: $0) }
    }

    /// Appends `true` or `false`.
    public mutating func bool(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    /// Appends `null`.
    public mutating func null() {
        raw("null")
    }

    /// Appends an integer, all its digits, also beyond 2^53.
    public mutating func integer(_ value: Int) {
        DecimalDigits.write(value, into: &bytes)
    }

    /// Appends so many digits of a number, with zeros in front, and before them a separator if there is one: the parts of
    /// dates, which must be as wide as their form demands.
    ///
    /// The digits come last to first into a word of the stack, so that they are appended at once.
    ///
    /// - Parameters:
    ///   - value: Not negative; digits beyond `count` are left out.
    ///   - count: At most seven.
    @inlinable
    public mutating func digits(_ value: Int, count: Int, after separator: UInt8? = nil) {
        var rest = UInt(value)
        var word: UInt64 = 0
        for _ in 0..<count {
            word = word << 8 | UInt64(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        }
        if let separator { word = word << 8 | UInt64(separator) }
        withUnsafeBytes(of: word.littleEndian) {
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<(separator == nil ? count : count + 1)]))
        }
    }

    /// Appends a number as JavaScript writes it; NaN and the infinities, which JSON does not have, as `null`.
    public mutating func number(_ value: Double) {
        if value.isFinite { JavaScriptNumber.write(value, into: &bytes) } else { null() }
    }
}

extension JSONWriter {
    /// Appends a string in quotes, with the escapes that JavaScript's `JSON.stringify` uses.
    public mutating func string(_ string: String) {
        var string = string
        string.withUTF8 { quoted($0) }
    }

    /// Appends a string in quotes, with the escapes that JavaScript's `JSON.stringify` uses.
    ///
    /// - Parameter utf8: The string in well-formed UTF-8, which is not checked again.
    public mutating func string(utf8: UnsafeRawBufferPointer) {
        utf8.withMemoryRebound(to: UInt8.self) { quoted($0) }
    }

    /// Copies the plain runs of a string as blocks, and escapes what stands between them.
    ///
    /// Unsafe pointers, because strings are most of what is written: the scan and the copies go over memory that the
    /// caller keeps alive, without bounds checks.
    private mutating func quoted(_ utf8: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        if var cursor = utf8.baseAddress {
            let end = cursor + utf8.count
            while true {
                let stop = PlainRun.end(from: cursor, limit: end).end
                bytes.append(contentsOf: UnsafeBufferPointer(start: cursor, count: stop - cursor))
                if stop == end { break }
                escape(stop.pointee)
                cursor = stop + 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        default:
            raw(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0x0F
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

extension JSONWriter {
    /// Appends any value.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let value): number(value)
        case .string(let value): string(value)
        case .array(let elements): array(elements)
        case .object(let members): object(members)
        }
    }

    /// Appends an array of any values.
    public mutating func array(_ elements: [JSONValue]) {
        var separator = UInt8(ascii: "[")
        for element in elements {
            bytes.append(separator)
            value(element)
            separator = UInt8(ascii: ",")
        }
        if elements.isEmpty { bytes.append(separator) }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Appends an object with its members in order.
    public mutating func object(_ members: JSONObject) {
        var separator = UInt8(ascii: "{")
        for (key, member) in members {
            bytes.append(separator)
            string(key)
            bytes.append(UInt8(ascii: ":"))
            value(member)
            separator = UInt8(ascii: ",")
        }
        if members.isEmpty { bytes.append(separator) }
        bytes.append(UInt8(ascii: "}"))
    }
}
