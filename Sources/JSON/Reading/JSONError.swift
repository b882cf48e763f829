/// Why some bytes are not a JSON document, and where.
///
/// Reasons are fixed phrases: `unexpected character`, `unexpected end`, `nesting deeper than <n>`,
/// `number out of range`, `invalid UTF-8`, `invalid escape`, `unescaped control character`.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The byte, counted from zero, where reading could not go on.
    public var offset: Int
    /// What is wrong there, as a phrase in lower case.
    public var reason: String

    /// Makes an error from its two parts.
    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    /// The reason and the place, as one phrase.
    public var description: String { "\(reason) at byte \(offset)" }
}
