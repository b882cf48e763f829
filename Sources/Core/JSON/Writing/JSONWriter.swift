import OrderedCollections
import Platform

/// Writes compact JSON to a byte buffer.
///
/// Appends single tokens, between which the caller writes commas, colons and brackets, or whole values:
///
/// ```swift
/// var writer = JSONWriter()
/// writer.raw("{\"name\":")
/// writer.string(name)
/// writer.byte(UInt8(ascii: "}"))
/// ```
///
/// Appending a token allocates only if the buffer must grow, and for some numbers that aren't integers below 2^53.
///
/// Manages its own memory, because an array would check uniqueness and bounds for each of a thousand small pieces.
/// `@unchecked Sendable` is safe: a writer can't be copied and only returns copies of its bytes, so nothing shares its
/// pointer.
public struct JSONWriter: ~Copyable, @unchecked Sendable {
    @usableFromInline var start: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    /// The number of bytes written so far.
    public var count: Int { used }
    @usableFromInline var used: Int

    /// Creates a writer whose buffer holds `capacity` bytes before it grows.
    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        start = Self.resized(nil, to: self.capacity)
        used = 0
    }

    deinit { free(start) }

    /// A copy of the bytes written so far.
    public var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// Returns all bytes. Releases the memory of large outputs while copying, which avoids holding them in memory
    /// twice.
    public consuming func finish() -> [UInt8] {
        guard count >= Self.large else { return bytes }
        let pageSize = Int(getpagesize())
        let (start, count) = (start, count)
        return Array(unsafeUninitializedCapacity: count) { target, initialized in
            var position = 0
            while position < count {
                let end = min(position + Self.large / 4, count)
                target.baseAddress?.advanced(by: position).initialize(from: start + position, count: end - position)
                // Releases only whole pages, because the bytes around them are still needed.
                let first =
                    (UInt(bitPattern: start) + UInt(position) + UInt(pageSize) - 1) / UInt(pageSize) * UInt(pageSize)
                let last = (UInt(bitPattern: start) + UInt(end)) / UInt(pageSize) * UInt(pageSize)
                if last > first {
                    _ = madvise(UnsafeMutableRawPointer(bitPattern: first), Int(last - first), MADV_DONTNEED)
                }
                position = end
            }
            initialized = count
        }
    }

    /// The minimum size in bytes of outputs whose memory is released while copying.
    private static let large = 1024 * 1024

    /// Reallocates memory. The C library can move large blocks by remapping pages, without copying.
    private static func resized(_ memory: UnsafeMutablePointer<UInt8>?, to capacity: Int) -> UnsafeMutablePointer<UInt8>
    {
        guard let memory = realloc(memory, capacity) else { fatalError("out of memory") }
        return memory.assumingMemoryBound(to: UInt8.self)
    }

    /// The bytes written so far, as text.
    public var text: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

    /// Reserves memory for `additional` bytes and returns a pointer to the first.
    @inlinable @inline(__always)
    mutating func room(_ additional: Int) -> UnsafeMutablePointer<UInt8> {
        if capacity - count < additional { grow(additional) }
        return start + count
    }

    @usableFromInline @inline(never)
    mutating func grow(_ additional: Int) {
        capacity = max(capacity * 2, count + additional)
        start = Self.resized(start, to: capacity)
    }

    /// Discards the bytes after the first `count`.
    public mutating func truncate(to count: Int) {
        precondition(count <= used)
        used = count
    }

    /// Replaces the byte at `position`, which must be an index below ``count``.
    @inlinable
    public mutating func replace(at position: Int, with byte: UInt8) {
        precondition(position >= 0 && position < count)
        start[position] = byte
    }

    /// Appends a byte without escaping.
    @inlinable
    public mutating func byte(_ byte: UInt8) {
        room(1).pointee = byte
        used += 1
    }

    /// Appends the eight bytes of a word, lowest first.
    @inlinable
    public mutating func word(_ word: UInt64) {
        UnsafeMutableRawPointer(room(8)).storeBytes(of: word.littleEndian, as: UInt64.self)
        used += 8
    }

    /// Appends bytes without escaping. They must be valid JSON at this position.
    @inlinable
    public mutating func raw(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// Appends a literal without escaping.
    @inlinable
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Appends bytes without escaping. They must be valid JSON at this position.
    @inlinable
    public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        bytes.withMemoryRebound(to: UInt8.self) { append($0) }
    }

    /// Appends text without escaping. It must be valid JSON at this position.
    public mutating func raw(utf8Of text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    @inlinable @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let source = bytes.baseAddress else { return }
        room(bytes.count).update(from: source, count: bytes.count)
        used += bytes.count
    }

    public mutating func bool(_ value: Bool) {
        if value { raw("true") } else { raw("false") }
    }

    public mutating func null() {
        raw("null")
    }

    /// Appends an integer with all of its digits, even beyond 2^53.
    public mutating func integer(_ value: Int) {
        if value < 0 { byte(UInt8(ascii: "-")) }
        let digits = UInt64(value.magnitude)
        let length = DecimalDigits.count(of: digits)
        DecimalDigits.write(digits, count: length, to: room(length))
        used += length
    }

    /// Appends a number in JavaScript's format. NaN and infinities become `null`.
    public mutating func number(_ value: Double) {
        if value.isFinite { JavaScriptNumber.write(value, into: &self) } else { null() }
    }
}

extension JSONWriter {
    /// Appends a quoted string with the escapes of JavaScript's `JSON.stringify`.
    public mutating func string(_ string: String) {
        var string = string
        byte(UInt8(ascii: "\""))
        string.withUTF8 { escaped($0) }
        byte(UInt8(ascii: "\""))
    }

    /// Appends a quoted string with the escapes of JavaScript's `JSON.stringify`.
    ///
    /// - Parameter utf8: The string in valid UTF-8, which isn't checked again.
    public mutating func string(utf8: UnsafeRawBufferPointer) {
        byte(UInt8(ascii: "\""))
        escaped(utf8: utf8)
        byte(UInt8(ascii: "\""))
    }

    /// Appends the content of a string without quotes, with the escapes of JavaScript's `JSON.stringify`.
    ///
    /// - Parameter utf8: The string in valid UTF-8, which isn't checked again.
    public mutating func escaped(utf8: UnsafeRawBufferPointer) {
        utf8.withMemoryRebound(to: UInt8.self) { escaped($0) }
    }

    /// Copies runs without escapes as blocks.
    ///
    /// Uses unsafe pointers to scan and copy without bounds checks, because strings are most of the output.
    private mutating func escaped(_ utf8: UnsafeBufferPointer<UInt8>) {
        guard var cursor = utf8.baseAddress else { return }
        let end = cursor + utf8.count
        while true {
            let stop = PlainRun.end(from: cursor, limit: end).end
            append(UnsafeBufferPointer(start: cursor, count: stop - cursor))
            if stop == end { break }
            escape(stop.pointee)
            cursor = stop + 1
        }
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
            self.byte(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

extension JSONWriter {
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

    public mutating func array(_ elements: [JSONValue]) {
        var separator = UInt8(ascii: "[")
        for element in elements {
            byte(separator)
            value(element)
            separator = UInt8(ascii: ",")
        }
        if elements.isEmpty { byte(separator) }
        byte(UInt8(ascii: "]"))
    }

    /// Appends an object. Keeps the order of its members.
    public mutating func object(_ members: JSONObject) {
        var separator = UInt8(ascii: "{")
        for (key, member) in members {
            byte(separator)
            string(key.text)
            byte(UInt8(ascii: ":"))
            value(member)
            separator = UInt8(ascii: ",")
        }
        if members.isEmpty { byte(separator) }
        byte(UInt8(ascii: "}"))
    }
}

extension JSONValue {
    /// Returns the value as compact JSON in UTF-8.
    public func serialized() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.finish()
    }

    /// The value as compact JSON.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension OrderedDictionary where Key == Name, Value == JSONValue {
    /// Returns the object as compact JSON in UTF-8.
    public func serialized() -> [UInt8] { JSONValue.object(self).serialized() }

    /// The object as compact JSON.
    public var text: String { JSONValue.object(self).text }
}
