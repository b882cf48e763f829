/// A regular expression as a nondeterministic automaton that runs all states at once. Each character is visited at most
/// once per state.
struct PatternProgram {
    private enum Step {
        case character(CharacterChoice)
        case boundary(PatternBoundary)
        /// Continues at both steps.
        case fork(Int, Int)
        case jump(Int)
        case found
    }

    /// The maximum number of steps. Repetitions are expanded, so a short pattern can have many.
    private static let longest = 10_000

    private var steps: [Step] = []
    /// The number of nodes appended, including those without steps.
    private var parts = 0
    private let maxSteps: Int

    /// - Parameter weight: Limits the pattern to the remaining steps, and counts those used.
    init(_ node: PatternNode, _ weight: inout MatcherWeight) throws(FilterMatcherError) {
        maxSteps = min(Self.longest, weight.stepsLeft)
        try append(node)
        steps.append(.found)
        weight.add(steps: max(steps.count, parts))
    }

    private mutating func append(_ node: PatternNode) throws(FilterMatcherError) {
        parts += 1
        guard steps.count < maxSteps, parts < maxSteps else { throw .unsupportedPattern("too many repetitions") }
        switch node {
        case .character(let choice): steps.append(.character(choice))
        case .boundary(let boundary): steps.append(.boundary(boundary))
        case .sequence(let nodes):
            for node in nodes { try append(node) }
        case .choice(let branches):
            var exits: [Int] = []
            for (index, branch) in branches.enumerated() {
                guard index < branches.count - 1 else {
                    try append(branch)
                    continue
                }
                let fork = reserve()
                try append(branch)
                exits.append(reserve())
                steps[fork] = .fork(fork + 1, steps.count)
            }
            for exit in exits { steps[exit] = .jump(steps.count) }
        case .repetition(let node, let minCount, let maxCount):
            for _ in 0..<minCount { try append(node) }
            guard let maxCount else {
                let fork = reserve()
                try append(node)
                steps.append(.jump(fork))
                steps[fork] = .fork(fork + 1, steps.count)
                return
            }
            var forks: [Int] = []
            for _ in minCount..<maxCount {
                forks.append(reserve())
                try append(node)
            }
            for fork in forks { steps[fork] = .fork(fork + 1, steps.count) }
        }
    }

    private mutating func reserve() -> Int {
        steps.append(.found)
        return steps.count - 1
    }

    /// Whether the pattern matches anywhere in a text.
    func isFound(in text: String, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        // Charges for decoding the text and for initializing the marks, one per step.
        try budget.spend(text.utf8.count + steps.count >> 3)
        let characters = Array(text.unicodeScalars)
        var marks = [Int](repeating: -1, count: steps.count)
        var current: [Int] = []
        var next: [Int] = []
        var pending: [Int] = []
        for position in 0...characters.count {
            // A match can start at any position.
            pending.append(0)
            while let index = pending.popLast() {
                guard marks[index] != position else { continue }
                marks[index] = position
                try budget.spend(1)
                switch steps[index] {
                case .found: return true
                case .character: current.append(index)
                case .boundary(let boundary): if boundary.holds(characters, position) { pending.append(index + 1) }
                case .fork(let first, let second): pending += [second, first]
                case .jump(let target): pending.append(target)
                }
            }
            guard position < characters.count else { break }
            next.removeAll(keepingCapacity: true)
            for index in current {
                if case .character(let choice) = steps[index], choice.contains(characters[position]) {
                    next.append(index + 1)
                }
            }
            current.removeAll(keepingCapacity: true)
            swap(&pending, &next)
        }
        return false
    }
}
