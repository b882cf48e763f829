import Encoding

/// Language tags: a language with optional subtags such as a region, for example `de` and `de-AT`.
public enum LanguageTag {
    /// Returns whether a text has the form of a language tag: two or three letters, then groups of two to eight letters
    /// and digits after hyphens, at most 64 bytes in total.
    public static func isValid(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let language = groups.first, (2...3).contains(language.count), language.allSatisfy(\.isASCIILetter) else {
            return false
        }
        return text.utf8.count <= 64
            && groups.dropFirst().allSatisfy { (2...8).contains($0.count) && $0.allSatisfy(\.isASCIIAlphanumeric) }
    }

    /// Returns the tags to look up translations by: the full tag, then the language. Empty for an invalid tag.
    public static func candidates(_ locale: String) -> [String] {
        guard isValid(locale) else { return [] }
        guard let hyphen = locale.utf8.firstIndex(of: UInt8(ascii: "-")) else { return [locale] }
        return [locale, String(locale[..<hyphen])]
    }

    /// Parses the header field `Accept-Language`. Returns up to ten languages, most preferred first.
    public static func list(_ field: String) -> [String] {
        let parts = field.utf8.prefix(1000).split(separator: UInt8(ascii: ",")).prefix(10)
        let wanted = parts.enumerated().compactMap { place, part -> (tag: String, weight: Double, place: Int)? in
            let pieces = part.split(separator: UInt8(ascii: ";"))
            guard let first = pieces.first else { return nil }
            let tag = String(decoding: first.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
            let weight = pieces.dropFirst().lazy.compactMap { piece -> Double? in
                let text = String(decoding: piece.filter { $0 != UInt8(ascii: " ") }, as: UTF8.self)
                return text.hasPrefix("q=") ? Double(text.dropFirst(2)) : nil
            }.first
            return isValid(tag) && weight != 0 ? (tag, weight ?? 1, place) : nil
        }
        return wanted.sorted { ($1.weight, $0.place) < ($0.weight, $1.place) }.map(\.tag)
    }
}
