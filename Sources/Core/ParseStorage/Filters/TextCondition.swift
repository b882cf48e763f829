import JSON
import ParseModel
import Postgres

/// Conditions on a text: full-text search, regular expressions and prefixes.
struct TextCondition {
    /// The text as SQL: a column, or what leads to a place in one.
    let text: String

    /// The condition that the text has the words of a search.
    ///
    /// - Parameter rank: Becomes the expression of how well it fits.
    func search(_ search: TextSearch, _ builder: inout SQLBuilder, rank: inout String?) -> String {
        let language = TextLanguage.configuration(search.language)
        var text = text
        var term = "\(builder.bind(.text(Self.words(search.term))))::text"
        if !search.isDiacriticSensitive {
            text = "roost_unaccented(\(text))"
            term = "roost_unaccented(\(term))"
        }
        if search.isCaseSensitive {
            // The dictionaries fold case: capitals are made other words on both sides.
            text = "roost_cased(\(text))"
            term = "roost_cased(\(term))"
        }
        let vector = Self.vector(text, language: search.language)
        let query = "websearch_to_tsquery('\(language)', \(term))"
        rank = "ts_rank_cd(\(vector), \(query), 32)"
        // Of a text with too many words PostgreSQL makes no vector, also of one that the caller may not read: one object would have all
        // searches fail.
        return "(octet_length(\(text)) <= \(Self.longestText) AND \(vector) @@ \(query))"
    }

    /// A regular expression on a text; one that only says "starts with" becomes a prefix that an index can serve.
    func regex(_ pattern: String, _ options: String, _ builder: inout SQLBuilder) throws(ParseError) -> String {
        guard !pattern.utf8.contains(0) else { return "FALSE" }
        if let start = RegexPattern.prefix(pattern, options: options) { return prefix(start, &builder) }
        let translated = try RegexPattern.postgres(pattern, options: options)
        return "\(text) ~ \(builder.bind(.text(translated)))"
    }

    /// "Starts with", as a `LIKE` that has nothing but a prefix.
    ///
    /// PostgreSQL turns it into a range of an index: of any index on the column in a database with the collation `C`,
    /// in others of one with `text_pattern_ops`.
    func prefix(_ prefix: String, _ builder: inout SQLBuilder) -> String {
        guard !prefix.utf8.contains(0) else { return "FALSE" }
        var pattern = ""
        for character in prefix.unicodeScalars {
            if "\\%_".unicodeScalars.contains(character) { pattern.append("\\") }
            pattern.unicodeScalars.append(character)
        }
        return "\(text) LIKE \(builder.bind(.text(pattern + "%")))"
    }

    /// In bytes. Longer texts never match a text search.
    private static let longestText = 131_072

    /// What a text search looks at: an index on the same expression serves it.
    static func vector(_ text: String, language: String?) -> String {
        "to_tsvector('\(TextLanguage.configuration(language))', \(text))"
    }

    /// Removes what PostgreSQL would parse as the start of a path (`/fox`, `~fox`), and writes the operator `OR` in
    /// lower case, because case-sensitive searches mark upper-case letters.
    private static func words(_ term: String) -> String {
        var text = ""
        // Remembered, and not asked of the text: to find the last of many flags, Swift goes back to the first.
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
}

/// The languages of PostgreSQL's full-text search.
enum TextLanguage {
    private static let names: [Name: String] = [
        "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french",
        "de": "german", "hu": "hungarian", "it": "italian", "nb": "norwegian", "pt": "portuguese", "ro": "romanian",
        "ru": "russian", "es": "spanish", "sv": "swedish", "tr": "turkish", "none": "simple",
    ]

    /// The configuration for a language given by name or code; `english` for one that is not known.
    static func configuration(_ language: String?) -> String {
        guard let language = language?.lowercased() else { return "english" }
        if let name = names[language] { return name }
        return names.values.contains(language) ? language : "english"
    }
}
