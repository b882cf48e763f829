/// Makes the program of a ``LinearPattern`` from a pattern in PostgreSQL's syntax, as `RegexReader` gives it.
struct PatternCompiler {
    private typealias Instruction = LinearPattern.Instruction

    private var rest: ArraySlice<Unicode.Scalar>
    private let dotMatchesNewline: Bool
    private let multipleLines: Bool
    private var depth = 0

    /// How deep groups may be in groups.
    private static let deepest = 100
    /// The most that a counted repetition may say, as in PostgreSQL.
    private static let mostRepetitions = 255

    init(_ pattern: String, dotMatchesNewline: Bool, multipleLines: Bool) {
        rest = Array(pattern.unicodeScalars)[...]
        self.dotMatchesNewline = dotMatchesNewline
        self.multipleLines = multipleLines
    }

    /// The whole pattern, and `match` at its end. Jumps are places in the program.
    mutating func program() throws(FilterMatchingError) -> [LinearPattern.Instruction] {
        let body = try alternation()
        guard rest.isEmpty else { throw .unsupportedPattern }
        return body + [.match]
    }

    // Parts of a program have jumps relative to their own beginning until they are put behind another.

    private static func moved(_ part: [Instruction], by distance: Int) -> [Instruction] {
        part.map { instruction in
            switch instruction {
            case .split(let first, let second): .split(first + distance, second + distance)
            case .jump(let target): .jump(target + distance)
            default: instruction
            }
        }
    }

    private static func join(_ first: [Instruction], _ second: [Instruction]) throws(FilterMatchingError)
        -> [Instruction]
    {
        guard first.count + second.count < LinearPattern.mostInstructions else { throw .unsupportedPattern }
        return first + moved(second, by: first.count)
    }

    private mutating func alternation() throws(FilterMatchingError) -> [Instruction] {
        var branches = [try sequence()]
        while rest.first == "|" {
            rest.removeFirst()
            branches.append(try sequence())
        }
        var result = branches.removeLast()
        for branch in branches.reversed() {
            let first = [Instruction.split(1, branch.count + 2)] + Self.moved(branch, by: 1)
            result = try Self.join(first + [.jump(branch.count + 2 + result.count)], result)
        }
        return result
    }

    private mutating func sequence() throws(FilterMatchingError) -> [Instruction] {
        var result: [Instruction] = []
        while let next = rest.first, next != "|", next != ")" {
            result = try Self.join(result, try repetition())
        }
        return result
    }

    private mutating func repetition() throws(FilterMatchingError) -> [Instruction] {
        let part = try atom()
        guard let (least, most) = try quantifier() else { return part }
        // Whether as few or as many as possible are taken makes no difference to whether there is a match.
        if rest.first == "?" { rest.removeFirst() }
        if let next = rest.first, next == "*" || next == "+" || next == "?" { throw .unsupportedPattern }
        var result: [Instruction] = []
        for _ in 0..<least { result = try Self.join(result, part) }
        guard let most else {
            let loop = [Instruction.split(1, part.count + 2)] + Self.moved(part, by: 1) + [.jump(0)]
            return try Self.join(result, loop)
        }
        guard most >= least else { throw .unsupportedPattern }
        var optional: [Instruction] = []
        for _ in least..<most {
            let inner = try Self.join(part, optional)
            optional = [.split(1, inner.count + 1)] + Self.moved(inner, by: 1)
        }
        return try Self.join(result, optional)
    }

    private mutating func quantifier() throws(FilterMatchingError) -> (least: Int, most: Int?)? {
        switch rest.first {
        case "*":
            rest.removeFirst()
            return (0, nil)
        case "+":
            rest.removeFirst()
            return (1, nil)
        case "?":
            rest.removeFirst()
            return (0, 1)
        case "{" where rest.dropFirst().first.map(Self.isDigit) ?? false:
            rest.removeFirst()
            let least = try number()
            guard rest.first == "," else {
                try take("}")
                return (least, least)
            }
            rest.removeFirst()
            let most = rest.first.map(Self.isDigit) ?? false ? try number() : nil
            try take("}")
            return (least, most)
        default: return nil
        }
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

    private mutating func number() throws(FilterMatchingError) -> Int {
        var value = 0
        while let next = rest.first, Self.isDigit(next) {
            value = value * 10 + Int(next.value - 48)
            guard value <= Self.mostRepetitions else { throw .unsupportedPattern }
            rest.removeFirst()
        }
        return value
    }

    private mutating func take(_ scalar: Unicode.Scalar) throws(FilterMatchingError) {
        guard rest.first == scalar else { throw .unsupportedPattern }
        rest.removeFirst()
    }

    private mutating func atom() throws(FilterMatchingError) -> [Instruction] {
        guard let scalar = rest.popFirst() else { throw .unsupportedPattern }
        switch scalar {
        case "(": return try group()
        case "[": return [.scalar(try bracket())]
        case ".": return [.scalar(ScalarSet(ranges: [], isNegated: true, leavesNewline: !dotMatchesNewline))]
        case "^": return [.assert(multipleLines ? .lineStart : .textStart)]
        case "$": return [.assert(multipleLines ? .lineEnd : .textEnd)]
        case "\\": return [try escape()]
        case "*", "+", "?": throw .unsupportedPattern
        default: return [.scalar(ScalarSet(ranges: [scalar.value...scalar.value]))]
        }
    }

    private mutating func group() throws(FilterMatchingError) -> [Instruction] {
        if rest.first == "?" {
            rest.removeFirst()
            // What looks around remembers where it was.
            try take(":")
        }
        depth += 1
        guard depth <= Self.deepest else { throw .unsupportedPattern }
        let body = try alternation()
        depth -= 1
        try take(")")
        return body
    }

    private mutating func escape() throws(FilterMatchingError) -> Instruction {
        guard let scalar = rest.popFirst() else { throw .unsupportedPattern }
        switch scalar {
        case "y": return .assert(.wordBoundary)
        case "Y": return .assert(.noWordBoundary)
        case "A": return .assert(.textStart)
        case "Z": return .assert(.textEnd)
        case "1"..."9": throw .unsupportedPattern
        default:
            if let set = Self.set(scalar) { return .scalar(set) }
            let value = Self.literal(scalar).value
            return .scalar(ScalarSet(ranges: [value...value]))
        }
    }

    /// The characters that a letter after a backslash stands for; nil when it stands for one.
    private static func set(_ scalar: Unicode.Scalar) -> ScalarSet? {
        switch scalar {
        case "d": .digit
        case "s": .space
        case "w": .word
        case "D": ScalarSet(ranges: ScalarSet.digit.ranges, isNegated: true)
        case "S": ScalarSet(ranges: ScalarSet.space.ranges, isNegated: true)
        case "W": ScalarSet(ranges: ScalarSet.word.ranges, isNegated: true)
        default: nil
        }
    }

    private static func literal(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar {
        case "n": "\n"
        case "r": "\r"
        case "t": "\t"
        case "f": "\u{0C}"
        case "v": "\u{0B}"
        case "0": "\0"
        default: scalar
        }
    }

    private mutating func bracket() throws(FilterMatchingError) -> ScalarSet {
        var set = ScalarSet(ranges: [])
        if rest.first == "^" {
            rest.removeFirst()
            set.isNegated = true
            set.leavesNewline = !dotMatchesNewline
        }
        while let scalar = rest.popFirst() {
            if scalar == "]" { return set }
            var start = scalar
            if scalar == "\\" {
                guard let escaped = rest.popFirst() else { break }
                if let named = Self.set(escaped) {
                    set.ranges += named.isNegated ? named.inverted : named.ranges
                    continue
                }
                start = Self.literal(escaped)
            }
            guard rest.first == "-", let second = rest.dropFirst().first, second != "]" else {
                set.ranges.append(start.value...start.value)
                continue
            }
            rest.removeFirst(2)
            var end = second
            if second == "\\" {
                guard let escaped = rest.popFirst(), Self.set(escaped) == nil else { throw .unsupportedPattern }
                end = Self.literal(escaped)
            }
            guard start <= end else { throw .unsupportedPattern }
            set.ranges.append(start.value...end.value)
        }
        throw .unsupportedPattern
    }
}
