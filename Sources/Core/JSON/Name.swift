import Encoding

/// A string that identifies something, such as a class name, a field name, an object id, a role name or a token.
///
/// Names are compared byte by byte, as PostgreSQL, MongoDB and the SDKs do. Swift compares strings by canonical
/// equivalence, in which U+212A KELVIN SIGN equals `K`, so a role could pass for another one whose name looks the same.
public struct Name: Sendable {
    /// The name as a string, unchanged.
    public let text: String

    @inlinable
    public init(_ text: String) { self.text = text }

    public init(_ text: Substring) { self.text = String(text) }

    @inlinable
    public var isEmpty: Bool { text.isEmpty }

    @inlinable
    public var utf8: String.UTF8View { text.utf8 }

    /// Whether the name begins with a prefix, compared byte by byte.
    public func hasPrefix(_ prefix: Name) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether the name ends with a suffix, compared byte by byte.
    public func hasSuffix(_ suffix: Name) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// Returns the part after a prefix, compared byte by byte, or nil if the name doesn't begin with it.
    public func dropping(prefix: String) -> String? { text.dropping(prefix: prefix) }

    /// Hashes the UTF-8 bytes and a terminator that doesn't occur in UTF-8.
    static func hash(_ text: String, into hasher: inout Hasher) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isDone == nil { for byte in text.utf8 { hasher.combine(byte) } }
        hasher.combine(0xFF as UInt8)
    }
}

extension Name: Hashable, Comparable, ExpressibleByStringInterpolation, CustomStringConvertible {
    public static func == (left: Name, right: Name) -> Bool { ByteEquality.areSame(left.text, right.text) }

    public func hash(into hasher: inout Hasher) { Name.hash(text, into: &hasher) }

    /// Orders names by bytes, like PostgreSQL's collation "C".
    public static func < (left: Name, right: Name) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }

    public init(stringLiteral value: String) { self.init(value) }

    public var description: String { text }
}

extension String {
    /// Whether the strings are equal byte by byte (see ``Name``). False if the other is nil.
    public func hasSameBytes(as other: String?) -> Bool { other.map { ByteEquality.areSame(self, $0) } ?? false }

    /// Returns the part after a prefix, compared byte by byte, or nil if the string doesn't begin with it.
    ///
    /// Unlike `hasPrefix`, it also finds a prefix that is followed by a combining character.
    public func dropping(prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// Splits the string at an ASCII separator and keeps empty parts. Unlike `split`, it finds separators that are
    /// followed by combining characters.
    public func parts(between separator: Unicode.Scalar) -> [String] {
        utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: separator) }.map { String(Substring($0)) }
    }
}

extension String? {
    /// Whether the strings are equal byte by byte. Two nils are equal.
    public func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): ByteEquality.areSame(left, right)
        default: false
        }
    }
}
