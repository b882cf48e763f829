public import ParseModel

/// Text that PostgreSQL can hold.
public enum ValueText {
    /// The text itself.
    ///
    /// - Throws: `ParseError` 107 when it has a NUL character in it.
    public static func checked(_ text: String) throws(ParseError) -> String {
        guard !text.utf8.contains(0) else {
            throw ParseError(ParseError.invalidJSON, "Strings cannot contain the NUL character")
        }
        return text
    }
}
