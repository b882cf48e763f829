/// Translates a pattern to PostgreSQL's syntax in one pass over its bytes. All special characters are ASCII.
struct RegexReader {
    private(set) var rest: ArraySlice<UInt8>
    private let allowsBackReferences: Bool
    private var output: [UInt8] = []

    init(_ pattern: ArraySlice<UInt8>, allowsBackReferences: Bool = true) {
        rest = pattern
        self.allowsBackReferences = allowsBackReferences
    }

    /// Consumes inline flags such as `(?i)`. They are recognized only at the start, where every engine allows them.
    mutating func flags() -> ArraySlice<UInt8> {
        guard rest.starts(with: "(?".utf8), let end = rest.firstIndex(of: UInt8(ascii: ")")) else { return [] }
        let flags = rest[rest.startIndex + 2..<end]
        guard flags.allSatisfy("imsx".utf8.contains) else { return [] }
        if !flags.isEmpty { rest = rest[(end + 1)...] }
        return flags
    }

    /// Returns the rest of the pattern in PostgreSQL's syntax.
    ///
    /// - Parameter isExtended: Whether whitespace and comments are ignored.
    mutating func body(isExtended: Bool) throws(ParseError) -> [UInt8] {
        output.reserveCapacity(rest.count + 16)
        var inBracket = false
        while let byte = rest.first {
            if byte == UInt8(ascii: "\\"), let text = quotation() {
                for byte in text { appendLiteral(byte) }
                continue
            }
            rest.removeFirst()
            switch byte {
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst() else { throw Self.invalid }
                try escape(next, inBracket: inBracket)
            case UInt8(ascii: "[") where !inBracket:
                inBracket = true
                output.append(byte)
                if rest.first == UInt8(ascii: "^") { output.append(rest.removeFirst()) }
                // In JavaScript `[]` is an empty set, which PostgreSQL can't express.
                if rest.first == UInt8(ascii: "]") { throw Self.invalid }
            case UInt8(ascii: "["):
                output += "\\[".utf8
            case UInt8(ascii: "]"):
                inBracket = false
                output.append(byte)
            case UInt8(ascii: "(") where !inBracket && rest.first == UInt8(ascii: "?"):
                try group()
            case UInt8(ascii: " "), 9...13:
                if !isExtended || inBracket { output.append(byte) }
            case UInt8(ascii: "#") where isExtended && !inBracket:
                while let skipped = rest.popFirst(), skipped != UInt8(ascii: "\n") {}
            default:
                output.append(byte)
            }
        }
        return output
    }

    /// Consumes `\Qtext\E`, or everything up to the end if `\E` is missing. Returns nil if the rest doesn't begin with
    /// `\Q`. The iOS SDK escapes an `\E` inside the text as `\E\\E\Q`.
    mutating func quotation() -> [UInt8]? {
        guard rest.starts(with: "\\Q".utf8) else { return nil }
        rest = rest.dropFirst(2)
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "E") else {
                text.append(byte)
                continue
            }
            rest.removeFirst()
            guard rest.starts(with: "\\\\E\\Q".utf8) else { return text }
            text += "\\E".utf8
            rest = rest.dropFirst(5)
        }
        return text
    }

    private mutating func escape(_ byte: UInt8, inBracket: Bool) throws(ParseError) {
        switch Unicode.Scalar(byte) {
        case "b" where !inBracket: output += "\\y".utf8
        case "B" where !inBracket: output += "\\Y".utf8
        case "z" where !inBracket: output += "\\Z".utf8
        case "A", "Z", "d", "w", "s", "D", "W", "S", "n", "r", "t", "f", "v", "0": output += [UInt8(ascii: "\\"), byte]
        case "1"..."9":
            guard allowsBackReferences else {
                throw ParseError(ParseError.invalidQuery, "Back references in regular expressions are not allowed")
            }
            output += [UInt8(ascii: "\\"), byte]
        case "x": try codePoint(digits: 2)
        case "u": try codePoint(digits: 4)
        // The end of a quotation that never began is ignored.
        case "E": break
        case "c", "p", "P", "k", "G", "K", "R", "X", "h", "H", "N", "e", "a": throw Self.invalid
        default: appendLiteral(byte)
        }
    }

    private mutating func codePoint(digits: Int) throws(ParseError) {
        let text = rest.prefix(digits)
        guard text.count == digits, text.allSatisfy({ Unicode.Scalar($0).properties.isASCIIHexDigit }),
            let value = UInt32(String(decoding: text, as: UTF8.self), radix: 16), value > 0,
            let scalar = Unicode.Scalar(value)
        else { throw Self.invalid }
        rest = rest.dropFirst(digits)
        for byte in String(Character(scalar)).utf8 { appendLiteral(byte) }
    }

    private mutating func group() throws(ParseError) {
        for form in ["?:", "?=", "?!", "?<=", "?<!"] where rest.starts(with: form.utf8) {
            rest = rest.dropFirst(form.utf8.count)
            output.append(UInt8(ascii: "("))
            output += form.utf8
            return
        }
        // A named group becomes a plain group, because only replacements use the name.
        for form in ["?<", "?P<"] where rest.starts(with: form.utf8) {
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { throw Self.invalid }
            rest = rest[(end + 1)...]
            output.append(UInt8(ascii: "("))
            return
        }
        throw Self.invalid
    }

    private mutating func appendLiteral(_ byte: UInt8) {
        if "\\.[]{}()*+?^$|-#&~".utf8.contains(byte) { output.append(UInt8(ascii: "\\")) }
        output.append(byte)
    }

    private static let invalid = ParseError(ParseError.invalidQuery, "Invalid regular expression")
}
