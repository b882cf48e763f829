import Encoding

/// A name that comes from outside: of a class, a field, a key, an object, a role, a user, a token.
///
/// Two names are equal when their UTF-8 bytes are. Swift's strings are equal when they are canonically equivalent: to them
/// U+212A KELVIN SIGN is a `K`, and a composed `é` is a decomposed one. PostgreSQL, MongoDB and the SDKs compare
/// bytes, so that a role with a name that only looks like another one is another role.
public struct Name: Sendable {
    /// The name as it came.
    public let text: String

    @inlinable
    public init(_ text: String) { self.text = text }

    public init(_ text: Substring) { self.text = String(text) }

    /// Whether it has no characters.
    @inlinable
    public var isEmpty: Bool { text.isEmpty }

    /// Its bytes.
    @inlinable
    public var utf8: String.UTF8View { text.utf8 }

    /// Whether it begins with the bytes of another.
    public func hasPrefix(_ prefix: Name) -> Bool { utf8.starts(with: prefix.utf8) }

    /// Whether it ends with the bytes of another.
    public func hasSuffix(_ suffix: Name) -> Bool {
        utf8.count >= suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }

    /// What follows a beginning, byte by byte; nil when the name begins otherwise.
    public func dropping(prefix: String) -> String? { text.dropping(prefix: prefix) }

    /// Feeds the bytes of a text to a hasher, and an end that no text has.
    static func hash(_ text: String, into hasher: inout Hasher) {
        let isDone: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isDone == nil { for byte in text.utf8 { hasher.combine(byte) } }
        hasher.combine(0xFF as UInt8)
    }
}

extension Name: Hashable {
    public static func == (left: Name, right: Name) -> Bool { ByteEquality.areSame(left.text, right.text) }

    public func hash(into hasher: inout Hasher) { Name.hash(text, into: &hasher) }
}

extension Name: Comparable {
    /// The order of bytes, which is that of PostgreSQL's collation "C".
    public static func < (left: Name, right: Name) -> Bool { left.utf8.lexicographicallyPrecedes(right.utf8) }
}

extension Name: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) { self.init(value) }
}

extension Name: CustomStringConvertible {
    public var description: String { text }
}

extension String {
    /// Whether a text from outside has the same bytes as another: see ``Name``.
    public func hasSameBytes(as other: String) -> Bool { ByteEquality.areSame(self, other) }

    /// Whether a text from outside has the same bytes as another that may be missing.
    public func hasSameBytes(as other: String?) -> Bool { other.map { ByteEquality.areSame(self, $0) } ?? false }

    /// What follows a beginning, byte by byte; nil when the text begins otherwise.
    ///
    /// To `hasPrefix`, a mark that combines with the last character makes another beginning of it.
    public func dropping(prefix: String) -> String? {
        guard utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    /// The parts between bytes of one kind, the empty ones included. Characters that combine with a separator do not
    /// hide it, as they do from `split`.
    public func parts(between separator: Unicode.Scalar) -> [String] {
        utf8.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: separator) }.map { String(Substring($0)) }
    }
}

extension String? {
    /// Whether both are missing, or have the same bytes.
    public func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): ByteEquality.areSame(left, right)
        default: false
        }
    }
}
