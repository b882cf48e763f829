/// Parses a regular expression in PostgreSQL's syntax, as translated by ``RegexPattern``.
struct PatternParser {
    /// The maximum nesting of groups, since the parser is recursive.
    private static let deepest = 100
    /// The maximum repetition count, as in PostgreSQL.
    private static let maxRepetitions = 255

    private let translation: RegexPattern.Translation
    private var rest: ArraySlice<Unicode.Scalar>

    init(_ translation: RegexPattern.Translation) {
        self.translation = translation
        rest = Array(String(decoding: translation.body, as: UTF8.self).unicodeScalars)[...]
    }

    mutating func parse() throws(FilterMatcherError) -> PatternNode {
        let node = try choice(depth: 0)
        guard rest.isEmpty else { throw Self.invalid }
        return node
    }

    private mutating func choice(depth: Int) throws(FilterMatcherError) -> PatternNode {
        guard depth <= Self.deepest else { throw .unsupportedPattern("too many nested groups") }
        var branches = [try sequence(depth: depth)]
        while skip("|") { branches.append(try sequence(depth: depth)) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence(depth: Int) throws(FilterMatcherError) -> PatternNode {
        var parts: [PatternNode] = []
        while let next = rest.first, next != "|", next != ")" {
            let part = try atom(depth: depth)
            if case .boundary = part {
                guard try repetition() == nil else { throw Self.invalid }
                parts.append(part)
            } else if let counts = try repetition() {
                // `a*?` matches in the same strings as `a*`. Two quantifiers in a row are invalid.
                _ = skip("?")
                guard try repetition() == nil else { throw Self.invalid }
                parts.append(.repetition(part, minCount: counts.minCount, maxCount: counts.maxCount))
            } else {
                parts.append(part)
            }
        }
        return .sequence(parts)
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func atom(depth: Int) throws(FilterMatcherError) -> PatternNode {
        let lines = translation.anchorsAtLines
        // A quantifier with nothing before it is invalid.
        guard try repetition() == nil, let character = rest.popFirst() else { throw Self.invalid }
        switch character {
        case "^": return .boundary(lines ? .lineStart : .start)
        case "$": return .boundary(lines ? .lineEnd : .end)
        case ".": return .character(CharacterChoice([], isNegated: true, excludesNewline: !dotMatchesNewline))
        case "[": return .character(try set())
        case "\\": return try escape()
        case "(":
            if skip("?"), !skip(":") { throw .unsupportedPattern("lookaround is not supported") }
            let node = try choice(depth: depth + 1)
            guard skip(")") else { throw Self.invalid }
            return node
        default: return .character(CharacterChoice([character...character], ignoresCase: translation.ignoresCase))
        }
    }

    private var dotMatchesNewline: Bool { translation.dotMatchesNewline }

    private mutating func repetition() throws(FilterMatcherError) -> (minCount: Int, maxCount: Int?)? {
        if skip("*") { return (0, nil) }
        if skip("+") { return (1, nil) }
        if skip("?") { return (0, 1) }
        guard rest.first == "{", let digit = rest.dropFirst().first, ("0"..."9").contains(digit) else { return nil }
        rest.removeFirst()
        guard let minCount = number() else { throw Self.invalid }
        var maxCount: Int? = minCount
        if skip(",") { maxCount = rest.first == "}" ? nil : number() ?? -1 }
        guard skip("}"), minCount <= Self.maxRepetitions,
            (minCount...Self.maxRepetitions).contains(maxCount ?? minCount)
        else {
            throw Self.invalid
        }
        return (minCount, maxCount)
    }

    private mutating func number() -> Int? {
        let digits = rest.prefix { ("0"..."9").contains($0) }
        guard (1...9).contains(digits.count) else { return nil }
        rest = rest.dropFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int($1.value) - 48 }
    }

    private mutating func escape() throws(FilterMatcherError) -> PatternNode {
        guard let character = rest.popFirst() else { throw Self.invalid }
        switch character {
        case "y": return .boundary(.word)
        case "Y": return .boundary(.noWord)
        case "A": return .boundary(.start)
        case "Z": return .boundary(.end)
        case "1"..."9": throw .unsupportedPattern("back references are not supported")
        default:
            if let kind = Self.kind(character) { return .character(CharacterChoice([], kinds: [kind])) }
            let meant = Self.control(character) ?? character
            return .character(CharacterChoice([meant...meant], ignoresCase: translation.ignoresCase))
        }
    }

    private mutating func set() throws(FilterMatcherError) -> CharacterChoice {
        let isNegated = skip("^")
        var ranges: [ClosedRange<Unicode.Scalar>] = []
        var kinds: Set<CharacterKind> = []
        var isFirst = true
        while !skip("]") {
            // A bare hyphen is a literal only at either end of a set.
            if rest.first == "-", !isFirst, rest.dropFirst().first != "]" { throw Self.invalid }
            isFirst = false
            let (character, kind) = try member()
            if let kind { kinds.insert(kind) }
            guard let character else { continue }
            if rest.first == "-", rest.dropFirst().first != "]" {
                rest.removeFirst()
                guard let upper = try member().character, character <= upper else { throw Self.invalid }
                ranges.append(character...upper)
            } else {
                ranges.append(character...character)
            }
        }
        return CharacterChoice(
            ranges, kinds: kinds, isNegated: isNegated, ignoresCase: translation.ignoresCase,
            excludesNewline: isNegated && !dotMatchesNewline)
    }

    private mutating func member() throws(FilterMatcherError) -> (character: Unicode.Scalar?, kind: CharacterKind?) {
        guard let character = rest.popFirst() else { throw Self.invalid }
        guard character == "\\" else { return (character, nil) }
        guard let escaped = rest.popFirst() else { throw Self.invalid }
        if let kind = Self.kind(escaped) { return (nil, kind) }
        switch escaped {
        case "A", "Z", "1"..."9": throw Self.invalid
        default: return (Self.control(escaped) ?? escaped, nil)
        }
    }

    private static func kind(_ character: Unicode.Scalar) -> CharacterKind? {
        switch character {
        case "d": .digit
        case "w": .word
        case "s": .space
        case "D": .noDigit
        case "W": .noWord
        case "S": .noSpace
        default: nil
        }
    }

    private static func control(_ character: Unicode.Scalar) -> Unicode.Scalar? {
        switch character {
        case "n": "\n"
        case "r": "\r"
        case "t": "\t"
        case "f": "\u{C}"
        case "v": "\u{B}"
        case "0": "\0"
        default: nil
        }
    }

    private static let invalid = FilterMatcherError.invalid(
        ParseError(ParseError.invalidQuery, "Invalid regular expression"))
}
