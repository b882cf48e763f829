import JSON
import ParseModel
import Postgres

/// Compiles conditions on strings: full-text search, regular expressions and prefixes.
struct TextCondition {
    /// The SQL expression of the text.
    let text: String

    /// Compiles a full-text search.
    ///
    /// - Parameter rank: Set to the SQL expression of the rank.
    func search(_ search: TextSearch, _ builder: inout SQLBuilder, rank: inout String?) -> String {
        let language = Self.configuration(search.language)
        var text = text
        var term = "\(builder.bind(.text(Self.words(search.term))))::text"
        if !search.isDiacriticSensitive {
            text = "roost_unaccented(\(text))"
            term = "roost_unaccented(\(term))"
        }
        if search.isCaseSensitive {
            // PostgreSQL's dictionaries ignore case, so `roost_cased` marks capital letters on both sides.
            text = "roost_cased(\(text))"
            term = "roost_cased(\(term))"
        }
        let vector = Self.vector(text, language: search.language)
        let query = "websearch_to_tsquery('\(language)', \(term))"
        rank = "ts_rank_cd(\(vector), \(query), 32)"
        // PostgreSQL can't create a vector of a very long text, even in a row that the caller can't read. Without the
        // limit, one such object would make all searches fail.
        return "(octet_length(\(text)) <= \(Self.longestText) AND \(vector) @@ \(query))"
    }

    /// Compiles a regular expression. A pattern that only requires a prefix becomes a LIKE that an index can serve.
    func regex(_ pattern: String, _ options: String, _ builder: inout SQLBuilder) throws(ParseError) -> String {
        guard !pattern.utf8.contains(0) else { return "FALSE" }
        if let start = RegexPattern.prefix(pattern, options: options) { return prefix(start, &builder) }
        let translated = try RegexPattern.postgres(pattern, options: options)
        return "\(text) ~ \(builder.bind(.text(translated)))"
    }

    /// Compiles a prefix match as a LIKE.
    ///
    /// PostgreSQL can use an index on the column if the collation is `C` or the index has `text_pattern_ops`.
    func prefix(_ prefix: String, _ builder: inout SQLBuilder) -> String {
        guard !prefix.utf8.contains(0) else { return "FALSE" }
        var pattern = ""
        for character in prefix.unicodeScalars {
            if "\\%_".unicodeScalars.contains(character) { pattern.append("\\") }
            pattern.unicodeScalars.append(character)
        }
        return "\(text) LIKE \(builder.bind(.text(pattern + "%")))"
    }

    /// The maximum length in bytes, after the conversions of the search. Longer texts never match.
    private static let longestText = 131_072

    /// Returns the SQL of the text vector that a search reads. An index on the same expression serves it.
    static func vector(_ text: String, language: String?) -> String {
        "to_tsvector('\(configuration(language))', \(text))"
    }

    /// Replaces `/` and `~` with spaces unless they follow a letter or digit (`/fox` would be a path), removes NUL, and
    /// writes the operator `OR` in lower case, because case-sensitive searches mark upper-case letters.
    private static func words(_ term: String) -> String {
        var text = ""
        // Reading the last character of `text` instead would be slow: Swift scans back to the start of a long run of
        // flag emoji.
        var isInside = false
        for character in term where character != "\0" {
            let isMark = character == "/" || character == "~"
            let kept: Character = isMark && !isInside ? " " : character
            text.append(kept)
            isInside = kept.isLetter || kept.isNumber
        }
        var isQuoted = false
        let words = text.split(separator: " ").map { word in
            defer { if word.count(where: { $0 == "\"" }) % 2 == 1 { isQuoted.toggle() } }
            return word == "OR" && !isQuoted ? "or" : word
        }
        return words.joined(separator: " ")
    }

    private static let languages: [Name: String] = [
        "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
        "de": "german", "hu": "hungarian", "it": "italian", "nb": "norwegian", "pt": "portuguese", "ro": "romanian",
        "ru": "russian", "es": "spanish", "sv": "swedish", "tr": "turkish", "none": "simple",
    ]

    /// Returns the text-search configuration for a language name or code, or `english` for an unknown one.
    private static func configuration(_ language: String?) -> String {
        guard let language = language?.lowercased() else { return "english" }
        if let name = languages[language] { return name }
        return languages.values.contains(language) ? language : "english"
    }
}
