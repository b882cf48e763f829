/// A node of a parsed regular expression.
indirect enum PatternNode {
    /// One character out of a set.
    case character(CharacterChoice)
    /// A position between characters.
    case boundary(PatternBoundary)
    /// Parts in sequence. Matches the empty string if empty.
    case sequence([PatternNode])
    case choice([PatternNode])
    /// A part repeated `minCount` to `maxCount` times, or without an upper limit if `maxCount` is nil.
    case repetition(PatternNode, minCount: Int, maxCount: Int?)
}

/// A position between two characters of a text, or at its ends.
enum PatternBoundary {
    case start, end, lineStart, lineEnd, word, noWord

    func holds(_ text: [Unicode.Scalar], _ position: Int) -> Bool {
        let before = position > 0 ? text[position - 1] : nil
        let after = position < text.count ? text[position] : nil
        func isWord(_ character: Unicode.Scalar?) -> Bool { character.map { CharacterKind.word.contains($0) } ?? false }
        return switch self {
        case .start: before == nil
        case .end: after == nil
        case .lineStart: before == nil || before == "\n"
        case .lineEnd: after == nil || after == "\n"
        case .word: isWord(before) != isWord(after)
        case .noWord: isWord(before) == isWord(after)
        }
    }
}

/// The character classes that have an escape, such as `\d`.
enum CharacterKind {
    case digit, word, space, noDigit, noWord, noSpace

    func contains(_ character: Unicode.Scalar) -> Bool {
        switch (self, character) {
        case (.digit, "0"..."9"): true
        case (.word, "0"..."9"), (.word, "a"..."z"), (.word, "A"..."Z"), (.word, "_"): true
        case (.space, " "), (.space, "\t"..."\r"): true
        case (.noDigit, _): !CharacterKind.digit.contains(character)
        case (.noWord, _): !CharacterKind.word.contains(character)
        case (.noSpace, _): !CharacterKind.space.contains(character)
        default: false
        }
    }
}

/// A set of characters that match at one position.
struct CharacterChoice {
    private let ranges: [ClosedRange<Unicode.Scalar>]
    private let kinds: Set<CharacterKind>
    private let isNegated: Bool
    private let ignoresCase: Bool
    private let excludesNewline: Bool

    init(
        _ ranges: [ClosedRange<Unicode.Scalar>], kinds: Set<CharacterKind> = [], isNegated: Bool = false,
        ignoresCase: Bool = false, excludesNewline: Bool = false
    ) {
        // Sorted and disjoint, for a binary search.
        var merged: [ClosedRange<Unicode.Scalar>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        self.ranges = merged
        self.kinds = kinds
        self.isNegated = isNegated
        self.ignoresCase = ignoresCase
        self.excludesNewline = excludesNewline
    }

    func contains(_ character: Unicode.Scalar) -> Bool {
        if excludesNewline, character == "\n" { return false }
        var isListed = lists(character)
        if !isListed, ignoresCase, let other = Self.otherCase(character) { isListed = lists(other) }
        return isListed != isNegated
    }

    private func lists(_ character: Unicode.Scalar) -> Bool {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].contains(character) { return true }
            if character < ranges[middle].lowerBound { high = middle } else { low = middle + 1 }
        }
        return kinds.contains { $0.contains(character) }
    }

    private static func otherCase(_ character: Unicode.Scalar) -> Unicode.Scalar? {
        switch character {
        case "a"..."z", "A"..."Z": Unicode.Scalar(character.value ^ 32)
        default: nil
        }
    }
}
