/// Translates the regular expressions of SDKs (JavaScript and PCRE) to PostgreSQL's syntax.
public enum RegexPattern {
    /// The maximum length of a pattern in bytes.
    public static let longest = 4096

    /// Throws 102 for a pattern that is too long.
    package static func checkLength(_ pattern: String) throws(ParseError) {
        guard pattern.utf8.count > longest else { return }
        throw ParseError(ParseError.invalidQuery, "A regular expression can't exceed \(longest) bytes")
    }

    /// Returns the text of a pattern of the form `^\Qtext\E`, or nil for any other pattern.
    public static func literalPrefix(_ pattern: String) -> String? {
        let bytes = Array(pattern.utf8)
        guard bytes.starts(with: "^\\Q".utf8), bytes.count >= 5, bytes.suffix(2).elementsEqual("\\E".utf8) else {
            return nil
        }
        var reader = RegexReader(bytes.dropFirst())
        guard let text = reader.quotation(), reader.rest.isEmpty else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the prefix that a pattern tests if it tests nothing else: `^\Qtext\E`, or `^text` without special
    /// characters. Returns nil for other patterns and for options that change the meaning of a character.
    public static func prefix(_ pattern: String, options: String) -> String? {
        guard pattern.utf8.first == UInt8(ascii: "^"), options.allSatisfy({ "su".contains($0) }) else { return nil }
        if let quoted = literalPrefix(pattern) { return quoted }
        let text = pattern.utf8.dropFirst()
        return text.contains { "\\.[]{}()*+?^$|".utf8.contains($0) } ? nil : String(Substring(text))
    }

    /// Whether a pattern may contain a back-reference.
    ///
    /// This can be a false alarm, for example if the reference is quoted. ``postgres(_:options:allowsBackReferences:)``
    /// is exact.
    static func mayReferBack(_ pattern: String) -> Bool {
        var isEscape = false
        for byte in pattern.utf8 {
            if isEscape, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) { return true }
            isEscape = byte == UInt8(ascii: "\\")
        }
        return false
    }

    /// A pattern in PostgreSQL's syntax, with its options.
    struct Translation {
        /// Whether `^` and `$` also match at the start and end of each line.
        let anchorsAtLines: Bool
        /// Whether `.` and negated sets match newlines.
        let dotMatchesNewline: Bool
        let ignoresCase: Bool
        /// The pattern without flags.
        let body: [UInt8]
    }

    /// Translates a pattern to PostgreSQL's syntax, with its options as embedded flags.
    ///
    /// - Parameters:
    ///   - options: Any of the letters `imxsu`.
    ///   - allowsBackReferences: Whether the pattern may have back-references (`\1`). Matching such a pattern can take
    ///     exponential time in its length.
    /// - Throws: 102 for syntax without an equivalent in PostgreSQL, and for back-references that aren't allowed.
    public static func postgres(_ pattern: String, options: String, allowsBackReferences: Bool = true)
        throws(ParseError) -> String
    {
        let translation = try translation(pattern, options: options, allowsBackReferences: allowsBackReferences)
        var flags =
            switch (translation.anchorsAtLines, translation.dotMatchesNewline) {
            case (false, false): "p"
            case (true, false): "n"
            case (false, true): "s"
            case (true, true): "w"
            }
        if translation.ignoresCase { flags += "i" }
        return "(?\(flags))" + String(decoding: translation.body, as: UTF8.self)
    }

    /// Translates a pattern without embedding its flags. Throws like ``postgres(_:options:allowsBackReferences:)``.
    static func translation(_ pattern: String, options: String, allowsBackReferences: Bool)
        throws(ParseError) -> Translation
    {
        var options = Set(options.utf8)
        var reader = RegexReader(Array(pattern.utf8)[...], allowsBackReferences: allowsBackReferences)
        options.formUnion(reader.flags())
        return Translation(
            anchorsAtLines: options.contains(UInt8(ascii: "m")),
            dotMatchesNewline: options.contains(UInt8(ascii: "s")),
            ignoresCase: options.contains(UInt8(ascii: "i")),
            body: try reader.body(isExtended: options.contains(UInt8(ascii: "x"))))
    }
}
