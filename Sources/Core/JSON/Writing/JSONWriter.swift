import OrderedCollections

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

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
///
/// The buffer is memory of the writer's own, because an array asks before each of a thousand small pieces whether it is
/// shared and where it ends. Nothing else has a pointer to it: a writer cannot be copied, and gives out copies of its
/// bytes. That is why it may go from task to task, which the compiler cannot see of a pointer (`@unchecked Sendable`).
public struct JSONWriter: ~Copyable, @unchecked Sendable {
    @usableFromInline var start: UnsafeMutablePointer<UInt8>
    @usableFromInline var capacity: Int
    /// How many bytes have been written so far.
    public var count: Int { used }
    @usableFromInline var used: Int

    /// Makes a writer with an empty buffer that holds `capacity` bytes before it grows.
    public init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        start = Self.resized(nil, to: self.capacity)
        used = 0
    }

    deinit { free(start) }

    /// What has been written so far.
    public var bytes: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    /// All that was written. Of much, the memory of what is copied is given back meanwhile: it is never there twice.
    public consuming func take() -> [UInt8] {
        guard count >= Self.large else { return bytes }
        let pageSize = Int(getpagesize())
        let (start, count) = (start, count)
        return Array(unsafeUninitializedCapacity: count) { target, initialized in
            var position = 0
            while position < count {
                let end = min(position + Self.large / 4, count)
                target.baseAddress?.advanced(by: position).initialize(from: start + position, count: end - position)
                // Whole pages only; what lies around them belongs to others.
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

    /// Bytes from which holding two copies matters.
    private static let large = 1024 * 1024

    /// Reallocates memory. Large blocks are moved by page, without a copy.
    private static func resized(_ memory: UnsafeMutablePointer<UInt8>?, to capacity: Int) -> UnsafeMutablePointer<UInt8>
    {
        guard let memory = realloc(memory, capacity) else { fatalError("out of memory") }
        return memory.assumingMemoryBound(to: UInt8.self)
    }

    /// What has been written so far, as text.
    public var text: String { String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

    /// Makes sure that `additional` bytes have room, and gives the place of the first.
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

    /// Takes back what was written after there were `count` bytes.
    public mutating func truncate(to count: Int) {
        precondition(count <= used)
        used = count
    }

    /// Writes another byte in place of one that was written; `position` is less than ``count``.
    @inlinable
    public mutating func replace(at position: Int, with byte: UInt8) {
        precondition(position >= 0 && position < count)
        start[position] = byte
    }

    /// Appends one byte as it is.
    @inlinable
    public mutating func byte(_ byte: UInt8) {
        room(1).pointee = byte
        used += 1
    }

    /// Appends the eight bytes of a word, the lowest first.
    @inlinable
    public mutating func word(_ word: UInt64) {
        UnsafeMutableRawPointer(room(8)).storeBytes(of: word.littleEndian, as: UInt64.self)
        used += 8
    }

    /// Appends bytes as they are; they must make sense as JSON in their place.
    @inlinable
    public mutating func raw(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { append($0) }
    }

    /// Appends a literal of the program as it is.
    @inlinable
    public mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { append($0) }
    }

    /// Appends bytes as they are; they must make sense as JSON in their place.
    @inlinable
    public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
        bytes.withMemoryRebound(to: UInt8.self) { append($0) }
    }

    /// Appends a text as it is; it must make sense as JSON in its place.
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
        if value < 0 { byte(UInt8(ascii: "-")) }
        let digits = UInt64(value.magnitude)
        let length = DecimalDigits.count(of: digits)
        DecimalDigits.write(digits, count: length, to: room(length))
        used += length
    }

    /// Appends a number as JavaScript writes it; NaN and the infinities, which JSON does not have, as `null`.
    public mutating func number(_ value: Double) {
        if value.isFinite { JavaScriptNumber.write(value, into: &self) } else { null() }
    }
}

extension JSONWriter {
    /// Appends a string in quotes, with the escapes that JavaScript's `JSON.stringify` uses.
    public mutating func string(_ string: String) {
        var string = string
        byte(UInt8(ascii: "\""))
        string.withUTF8 { escaped($0) }
        byte(UInt8(ascii: "\""))
    }

    /// Appends a string in quotes, with the escapes that JavaScript's `JSON.stringify` uses.
    ///
    /// - Parameter utf8: The string in well-formed UTF-8, which is not checked again.
    public mutating func string(utf8: UnsafeRawBufferPointer) {
        byte(UInt8(ascii: "\""))
        escaped(utf8: utf8)
        byte(UInt8(ascii: "\""))
    }

    /// Appends what stands between the quotes of a string, with the escapes that JavaScript's `JSON.stringify` uses.
    ///
    /// - Parameter utf8: The string in well-formed UTF-8, which is not checked again.
    public mutating func escaped(utf8: UnsafeRawBufferPointer) {
        utf8.withMemoryRebound(to: UInt8.self) { escaped($0) }
    }

    /// Copies a string's plain runs as blocks and escapes the rest.
    ///
    /// Unsafe pointers, because strings are most of the output: scans and copies skip bounds checks on memory that the
    /// caller keeps alive.
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
            byte(separator)
            value(element)
            separator = UInt8(ascii: ",")
        }
        if elements.isEmpty { byte(separator) }
        byte(UInt8(ascii: "]"))
    }

    /// Appends an object with its members in order.
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
    /// The value as compact JSON in UTF-8.
    public func serialized() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.take()
    }

    /// The value as compact JSON.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension OrderedDictionary where Key == Name, Value == JSONValue {
    /// The object as compact JSON in UTF-8.
    public func serialized() -> [UInt8] {
        var writer = JSONWriter()
        writer.object(self)
        return writer.take()
    }

    /// The object as compact JSON.
    public var text: String { String(decoding: serialized(), as: UTF8.self) }
}
