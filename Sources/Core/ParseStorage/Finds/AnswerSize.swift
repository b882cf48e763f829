import JSON
import ParseModel

/// Limits the size of an answer.
public enum AnswerSize {
    /// The size where no other is configured: 64 MB.
    public static let standard = 64 * 1024 * 1024

    /// The refusal of an answer that would be larger.
    public static func tooLarge(_ limit: Int) -> ParseError {
        ParseError(
            ParseError.objectTooLarge,
            "The response exceeds the maximum size of \(limit) bytes; ask for fewer objects, keys or includes.")
    }

    /// The refusal of an answer whose rows take too much memory.
    static let tooMuchMemory = ParseError(
        ParseError.objectTooLarge, "The response takes too much memory; ask for fewer objects, keys or includes.")

    /// The refusal of an object that another server stored, and that is nested deeper than values are read.
    static let tooDeep = ParseError(
        ParseError.objectTooLarge, "The object is nested deeper than \(JSONValue.greatestDepth) levels.")

    /// Refuses an answer of so many bytes, when they are more than the limit.
    ///
    /// - Throws: 116.
    public static func check(_ count: Int, _ limit: Int) throws(ParseError) {
        if count > limit { throw tooLarge(limit) }
    }
}
