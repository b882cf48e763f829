/// Translates the regular expressions that SDKs send (JavaScript and PCRE) into PostgreSQL's.
public enum RegexPattern {
    /// The longest pattern that is taken, in bytes.
    public static let longest = 4096

    /// The text of a pattern that only says "starts with": `^\Qtext\E`; nil for every other pattern.
    public static func literalPrefix(_ pattern: String) -> String? {
        let bytes = Array(pattern.utf8)
        guard bytes.starts(with: "^\\Q".utf8), bytes.count >= 5, bytes.suffix(2).elementsEqual("\\E".utf8) else {
            return nil
        }
        var reader = RegexReader(bytes.dropFirst())
        guard let text = reader.quotation(), reader.rest.isEmpty else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    /// The text that a pattern asks a value to start with, if it asks nothing else: `^\Qtext\E`, or `^text` of plain
    /// characters. Nil for every other pattern, and where an option gives one of its characters another meaning.
    public static func prefix(_ pattern: String, options: String) -> String? {
        guard pattern.utf8.first == UInt8(ascii: "^"), options.allSatisfy({ "su".contains($0) }) else { return nil }
        if let quoted = literalPrefix(pattern) { return quoted }
        let text = pattern.utf8.dropFirst()
        return text.contains { "\\.[]{}()*+?^$|".utf8.contains($0) } ? nil : String(Substring(text))
    }

    /// Whether a pattern may refer to what one of its groups matched.
    ///
    /// It is so for some that do not, as where the reference is quoted: ``postgres(_:options:allowsBackReferences:)`` knows.
    static func mayReferBack(_ pattern: String) -> Bool {
        var isEscape = false
        for byte in pattern.utf8 {
            if isEscape, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(byte) { return true }
            isEscape = byte == UInt8(ascii: "\\")
        }
        return false
    }

    /// A pattern in PostgreSQL's syntax, and how it is meant.
    struct Translation {
        /// Whether `^` and `$` stand for the ends of lines.
        let anchorsAtLines: Bool
        /// Whether `.` and sets of what must not stand somewhere take the end of a line.
        let dotMatchesNewline: Bool
        /// Whether capitals and small letters are the same.
        let ignoresCase: Bool
        /// The pattern without flags.
        let body: [UInt8]
    }

    /// The pattern in PostgreSQL's syntax, with its options as embedded flags.
    ///
    /// - Parameters:
    ///   - options: letters out of `imxsu`.
    ///   - allowsBackReferences: Whether the pattern may refer to what one of its groups matched (`\1`). The time that
    ///     such a pattern takes can grow exponentially with its length.
    /// - Throws: 102 for what PostgreSQL has no counterpart for.
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

    /// The pattern in PostgreSQL's syntax; see ``postgres(_:options:allowsBackReferences:)``.
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
