import ParseModel
import Postgres

/// Regular expressions and prefixes of texts.
extension FilterCompiler {
    /// A regular expression on a text; one that only says "starts with" becomes a prefix that an index can serve.
    mutating func regex(_ text: String, _ pattern: String, _ options: String) throws(ParseError) -> String {
        guard !pattern.utf8.contains(0) else { return "FALSE" }
        if let start = RegexPattern.prefix(pattern, options: options) { return prefix(text, start) }
        let translated = try RegexPattern.postgres(pattern, options: options)
        return "\(text) ~ \(builder.bind(.text(translated)))"
    }

    /// "Starts with", as a `LIKE` that has nothing but a prefix.
    ///
    /// PostgreSQL turns it into a range of an index: of any index on the column in a database with the collation `C`,
    /// in others of one with `text_pattern_ops`.
    mutating func prefix(_ text: String, _ prefix: String) -> String {
        guard !prefix.utf8.contains(0) else { return "FALSE" }
        var pattern = ""
        for character in prefix.unicodeScalars {
            if "\\%_".unicodeScalars.contains(character) { pattern.append("\\") }
            pattern.unicodeScalars.append(character)
        }
        return "\(text) LIKE \(builder.bind(.text(pattern + "%")))"
    }
}
