import JSON
import ParseModel
import Postgres

/// Full-text search.
extension FilterCompiler {
    /// The condition that a text has the words of a search, and as ``rank`` how well it fits.
    mutating func textSearch(_ search: TextSearch, _ column: String) -> String {
        let language = TextLanguage.configuration(search.language)
        var text = column
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
        let vector = Self.textVector(text, language: search.language)
        let query = "websearch_to_tsquery('\(language)', \(term))"
        rank = "ts_rank_cd(\(vector), \(query), 32)"
        return "\(vector) @@ \(query)"
    }

    /// What a text search looks at: an index on the same expression serves it.
    static func textVector(_ text: String, language: String?) -> String {
        "to_tsvector('\(TextLanguage.configuration(language))', \(text))"
    }

    /// A search without what PostgreSQL would take for the beginning of a path (`/fox`, `~fox`), and with its operator
    /// in small letters, which stay as they are when case counts.
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
