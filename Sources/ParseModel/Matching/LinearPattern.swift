/// A regular expression that is matched in time linear in the text: all ways through the pattern are followed at once
/// (Thompson's construction), so that no pattern makes it come back.
///
/// It means what PostgreSQL makes of the pattern in a database with the character type C: classes and the case of letters
/// concern ASCII. What refers back, or looks around, is not supported.
public struct LinearPattern: Sendable {
    /// One step of the program that a pattern is compiled to.
    enum Instruction {
        case scalar(ScalarSet)
        case assert(Assertion)
        case split(Int, Int)
        case jump(Int)
        case match
    }

    /// What holds between two characters.
    enum Assertion { case textStart, textEnd, lineStart, lineEnd, wordBoundary, noWordBoundary }

    /// The most steps of a program; counted repetitions multiply them.
    static let mostInstructions = 10_000
    /// The most steps that are taken in one text.
    static let mostSteps = 5_000_000

    private let program: [Instruction]
    private let ignoresCase: Bool

    /// Compiles a pattern as SDKs send it.
    ///
    /// - Parameter options: letters out of `imxsu`.
    /// - Throws: `FilterMatchingError.unsupportedPattern`.
    public init(_ pattern: String, options: String) throws(FilterMatchingError) {
        var options = Set(options.utf8)
        var reader = RegexReader(Array(pattern.utf8)[...])
        options.formUnion(reader.flags())
        ignoresCase = options.contains(UInt8(ascii: "i"))
        let body: [UInt8]
        do {
            body = try reader.body(isExtended: options.contains(UInt8(ascii: "x")))
        } catch {
            throw .unsupportedPattern
        }
        var compiler = PatternCompiler(
            String(decoding: body, as: UTF8.self), dotMatchesNewline: options.contains(UInt8(ascii: "s")),
            multipleLines: options.contains(UInt8(ascii: "m")))
        program = try compiler.program()
    }

    /// Whether the pattern is found anywhere in a text.
    ///
    /// - Throws: `FilterMatchingError.tooMuchWork` when it takes more steps than one text may.
    public func finds(in text: String) throws(FilterMatchingError) -> Bool {
        let scalars = text.unicodeScalars.map { ignoresCase ? Self.folded($0.value) : $0.value }
        var current = Threads(program.count)
        var next = Threads(program.count)
        var steps = 0
        for position in 0...scalars.count {
            // The pattern may begin at each place.
            if follow(0, position, scalars, &current, &steps) { return true }
            guard position < scalars.count else { return false }
            next.removeAll()
            for thread in current.list {
                steps += 1
                guard case .scalar(let set) = program[thread], set.contains(scalars[position], ignoresCase) else {
                    continue
                }
                if follow(thread + 1, position + 1, scalars, &next, &steps) { return true }
            }
            guard steps <= Self.mostSteps else { throw .tooMuchWork }
            swap(&current, &next)
        }
        return false
    }

    /// Adds an instruction, and all that can be reached from it without a character. True when the pattern has ended.
    private func follow(
        _ start: Int, _ position: Int, _ scalars: [UInt32], _ threads: inout Threads, _ steps: inout Int
    ) -> Bool {
        threads.pending.append(start)
        while let index = threads.pending.popLast() {
            guard threads.insert(index) else { continue }
            steps += 1
            switch program[index] {
            case .match:
                threads.pending.removeAll(keepingCapacity: true)
                return true
            case .jump(let target): threads.pending.append(target)
            case .split(let first, let second): threads.pending += [second, first]
            case .assert(let assertion):
                if Self.holds(assertion, position, scalars) { threads.pending.append(index + 1) }
            case .scalar: threads.list.append(index)
            }
        }
        return false
    }

    private static func holds(_ assertion: Assertion, _ position: Int, _ scalars: [UInt32]) -> Bool {
        switch assertion {
        case .textStart: return position == 0
        case .textEnd: return position == scalars.count
        case .lineStart: return position == 0 || scalars[position - 1] == 10
        case .lineEnd: return position == scalars.count || scalars[position] == 10
        case .wordBoundary, .noWordBoundary:
            let before = position > 0 && ScalarSet.word.contains(scalars[position - 1], false)
            let after = position < scalars.count && ScalarSet.word.contains(scalars[position], false)
            return (before != after) == (assertion == .wordBoundary)
        }
    }

    /// A letter of ASCII in lower case; every other character as it is.
    static func folded(_ scalar: UInt32) -> UInt32 { (65...90).contains(scalar) ? scalar + 32 : scalar }

    /// The places of the program that are waited at, each once.
    private struct Threads {
        var list: [Int] = []
        var pending: [Int] = []
        private var round = 1
        private var rounds: [Int]

        init(_ count: Int) { rounds = Array(repeating: 0, count: count) }

        mutating func insert(_ index: Int) -> Bool {
            guard rounds[index] != round else { return false }
            rounds[index] = round
            return true
        }

        mutating func removeAll() {
            list.removeAll(keepingCapacity: true)
            round += 1
        }
    }
}

/// The characters that a step of a pattern takes.
struct ScalarSet: Sendable {
    var ranges: [ClosedRange<UInt32>]
    var isNegated = false
    /// Whether it takes no line break, negated or not.
    var leavesNewline = false

    static let digit = ScalarSet(ranges: [48...57])
    static let space = ScalarSet(ranges: [9...13, 32...32])
    static let word = ScalarSet(ranges: [48...57, 65...90, 95...95, 97...122])

    /// The characters that it does not take, as ranges.
    var inverted: [ClosedRange<UInt32>] {
        var result: [ClosedRange<UInt32>] = []
        var start: UInt32 = 0
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > start { result.append(start...range.lowerBound - 1) }
            start = max(start, range.upperBound + 1)
        }
        if start <= 0x10FFFF { result.append(start...0x10FFFF) }
        return result
    }

    /// - Parameter ignoresCase: Whether the character was folded, and stands for both cases.
    func contains(_ scalar: UInt32, _ ignoresCase: Bool) -> Bool {
        if leavesNewline, scalar == 10 { return false }
        var isFound = ranges.contains { $0.contains(scalar) }
        if !isFound, ignoresCase, (97...122).contains(scalar) {
            isFound = ranges.contains { $0.contains(scalar - 32) }
        }
        return isFound != isNegated
    }
}
