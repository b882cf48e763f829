import JSON
import ParseModel

/// Limits the size of responses, and of find results passed to triggers.
public enum AnswerSize {
    /// The default limit: 64 MB.
    public static let standard = 64 * 1024 * 1024

    /// Returns the error for a result that would exceed the limit.
    public static func tooLarge(_ limit: Int) -> ParseError {
        ParseError(
            ParseError.objectTooLarge,
            "The response exceeds the maximum size of \(limit) bytes; ask for fewer objects, keys or includes.")
    }

    /// The error for a response whose rows take too much memory.
    static let tooMuchMemory = ParseError(
        ParseError.objectTooLarge, "The response takes too much memory; ask for fewer objects, keys or includes.")

    /// The error for an object, stored by another server, that is nested too deeply.
    static let tooDeep = ParseError(
        ParseError.objectTooLarge, "The object is nested deeper than \(JSONValue.greatestDepth) levels.")

    /// Throws 116 if the size exceeds the limit.
    public static func check(_ count: Int, _ limit: Int) throws(ParseError) {
        if count > limit { throw tooLarge(limit) }
    }
}
