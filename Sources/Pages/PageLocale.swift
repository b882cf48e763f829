/// A language, with a region where there is one: `de`, `de-AT`.
enum PageLocale {
    /// Whether a text is a language: letters first, then groups of letters and digits between hyphens.
    static func isValid(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard let language = groups.first, (2...3).contains(language.count), language.allSatisfy(isLetter) else {
            return false
        }
        return text.utf8.count <= 64
            && groups.dropFirst().allSatisfy { group in
                (2...8).contains(group.count) && group.allSatisfy { isLetter($0) || isDigit($0) }
            }
    }

    /// The names under which something is looked for in a language: the whole, then the language alone.
    static func candidates(_ locale: String) -> [String] {
        guard isValid(locale) else { return [] }
        guard let hyphen = locale.utf8.firstIndex(of: UInt8(ascii: "-")) else { return [locale] }
        return [locale, String(locale[..<hyphen])]
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
