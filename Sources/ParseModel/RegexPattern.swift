/// Translates the regular expressions that SDKs send (JavaScript and PCRE) into PostgreSQL's.
public enum RegexPattern {
    /// The text of a pattern that only says "starts with": `^\Qtext\E`; nil for every other pattern.
    public static func literalPrefix(_ pattern: String) -> String? {
        guard pattern.hasPrefix("^\\Q"), pattern.hasSuffix("\\E") else { return nil }
        let quoted = pattern.dropFirst(1)
        guard let (text, rest) = literal(at: Substring(quoted)), rest.isEmpty else { return nil }
        return text
    }

    /// The text that a pattern asks a value to start with, if it asks nothing else: `^\Qtext\E`, or `^text` of plain
    /// characters. Nil for every other pattern, and where an option gives one of its characters another meaning.
    public static func prefix(_ pattern: String, options: String) -> String? {
        guard options.allSatisfy({ "su".contains($0) }) else { return nil }
        if let quoted = literalPrefix(pattern) { return quoted }
        guard pattern.hasPrefix("^") else { return nil }
        let text = pattern.dropFirst()
        return text.unicodeScalars.contains { "\\.[]{}()*+?^$|".unicodeScalars.contains($0) } ? nil : String(text)
    }

    /// The pattern in PostgreSQL's syntax, with its options as embedded flags.
    ///
    /// - Parameter options: letters out of `imxsu`.
    /// - Throws: 102 for what PostgreSQL has no counterpart for.
    public static func postgres(_ pattern: String, options: String) throws(ParseError) -> String {
        var options = Set(options)
        var rest = Substring(pattern)
        // Inline flags are taken at the start only, where every engine has them.
        if rest.hasPrefix("(?"), let end = rest.firstIndex(of: ")") {
            let flags = rest[rest.index(rest.startIndex, offsetBy: 2)..<end]
            if !flags.isEmpty, flags.allSatisfy({ "imsx".contains($0) }) {
                options.formUnion(flags)
                rest = rest[rest.index(after: end)...]
            }
        }
        let dotMatchesNewline = options.contains("s")
        let multipleLines = options.contains("m")
        var flags: String
        switch (multipleLines, dotMatchesNewline) {
        case (false, false): flags = "p"
        case (true, false): flags = "n"
        case (false, true): flags = "s"
        case (true, true): flags = "w"
        }
        if options.contains("i") { flags += "i" }
        return "(?\(flags))" + (try body(rest, isExtended: options.contains("x")))
    }

    private static func body(_ pattern: Substring, isExtended: Bool) throws(ParseError) -> String {
        var output = ""
        var rest = pattern
        var inBracket = false
        while let character = rest.first {
            if rest.hasPrefix("\\Q"), let (text, remainder) = literal(at: rest) {
                output += text.map(escaped).joined()
                rest = remainder
                continue
            }
            rest.removeFirst()
            switch character {
            case "\\":
                guard let next = rest.popFirst() else { throw invalid() }
                output += try escape(next, &rest, inBracket: inBracket)
            case "[" where !inBracket:
                inBracket = true
                output.append("[")
                if rest.first == "^" { output.append(rest.removeFirst()) }
                if rest.first == "]" {
                    // In JavaScript `[]` is an empty set, which PostgreSQL cannot say.
                    throw invalid()
                }
            case "[" where inBracket:
                output += "\\["
            case "]":
                inBracket = false
                output.append("]")
            case "(" where !inBracket && rest.hasPrefix("?"):
                output += try group(&rest)
            case " ", "\t", "\n", "\r", "\u{0B}", "\u{0C}":
                if !isExtended || inBracket { output.append(character) }
            case "#" where isExtended && !inBracket:
                while let skipped = rest.popFirst(), skipped != "\n" {}
            default:
                output.append(character)
            }
        }
        return output
    }

    /// Reads `\Qtext\E` (or to the end when `\E` is missing), including the way iOS escapes an `\E` inside.
    private static func literal(at pattern: Substring) -> (text: String, rest: Substring)? {
        guard pattern.hasPrefix("\\Q") else { return nil }
        var text = ""
        var rest = pattern.dropFirst(2)
        while true {
            guard let end = rest.range(ofText: "\\E") else { return (text + rest, rest[rest.endIndex...]) }
            text += rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
            guard rest.hasPrefix("\\\\E\\Q") else { return (text, rest) }
            text += "\\E"
            rest = rest.dropFirst(5)
        }
    }

    private static func escape(_ character: Character, _ rest: inout Substring, inBracket: Bool) throws(ParseError)
        -> String
    {
        switch character {
        case "b" where !inBracket: return "\\y"
        case "B" where !inBracket: return "\\Y"
        case "z" where !inBracket: return "\\Z"
        case "A", "Z", "d", "w", "s", "D", "W", "S", "n", "r", "t", "f", "v":
            return "\\\(character)"
        case "x", "u":
            return try codePoint(&rest, digits: character == "x" ? 2 : 4)
        case "0"..."9":
            return "\\\(character)"
        // The end of a quotation that was never begun means nothing.
        case "E": return ""
        case "c", "p", "P", "k", "G", "K", "R", "X", "h", "H", "N", "e", "a":
            throw invalid()
        default:
            return escaped(character)
        }
    }

    private static func codePoint(_ rest: inout Substring, digits: Int) throws(ParseError) -> String {
        let text = rest.prefix(digits)
        guard text.count == digits, let value = UInt32(text, radix: 16), value > 0, let scalar = Unicode.Scalar(value)
        else { throw invalid() }
        rest = rest.dropFirst(digits)
        return escaped(Character(scalar))
    }

    private static func group(_ rest: inout Substring) throws(ParseError) -> String {
        for form in ["?:", "?=", "?!", "?<=", "?<!"] where rest.hasPrefix(form) {
            rest = rest.dropFirst(form.count)
            return "(" + form
        }
        // A named group is a group; its name is only of use to replacements.
        for form in ["?<", "?P<"] where rest.hasPrefix(form) {
            guard let end = rest.firstIndex(of: ">") else { throw invalid() }
            rest = rest[rest.index(after: end)...]
            return "("
        }
        throw invalid()
    }

    private static func escaped(_ character: Character) -> String {
        "\\.[]{}()*+?^$|/-#&~".contains(character) && character != "/" ? "\\\(character)" : String(character)
    }

    private static func invalid() -> ParseError {
        ParseError(ParseError.invalidQuery, "Invalid regular expression")
    }
}

extension Substring {
    /// Where a text first occurs.
    fileprivate func range(ofText text: String) -> Range<Index>? {
        var position = startIndex
        while position < endIndex {
            if self[position...].hasPrefix(text) { return position..<index(position, offsetBy: text.count) }
            position = index(after: position)
        }
        return nil
    }
}
