/// Why some bytes are no BSON document, and where.
public struct BSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The byte, counted from the first that was given, where reading could not go on.
    public var offset: Int
    /// What is wrong there, as a phrase in lower case.
    public var reason: String

    /// Makes an error of its parts.
    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    /// The reason and the place, as one phrase.
    public var description: String { "\(reason) at byte \(offset)" }
}
