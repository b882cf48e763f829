/// What a matcher takes in memory: far more than its filter had as JSON, where patterns repeat.
struct MatcherWeight {
    /// The most steps of all patterns of a filter: repetitions are written out, each step is looked at for each character.
    private static let mostSteps = 20_000
    /// What is counted for a condition, a value of a list, and a step of a pattern.
    private static let (condition, value, step) = (128, 40, 24)

    /// The bytes, roughly.
    private(set) var bytes = 0
    private(set) var stepsLeft = Self.mostSteps

    /// Counts a condition.
    mutating func add(_ constraint: Constraint) {
        bytes += Self.condition
        switch constraint {
        case .isIn(let values), .notIn(let values), .containsAll(let values), .containedBy(let values):
            bytes += values.count * Self.value
        case .containsAllStarting(let prefixes): bytes += prefixes.count * Self.value
        case .insidePolygon(let points): bytes += points.count * Self.value
        default: break
        }
    }

    /// Counts the steps of a pattern; there are as many left.
    mutating func add(steps: Int) {
        bytes += steps * Self.step
        stepsLeft -= steps
    }
}
