import JSON

/// The work that is left for the comparison of objects with filters.
///
/// Each condition is linear in the object, but a filter can have thousands of conditions and an object thousands of
/// values: the product is what this bounds.
public struct MatchBudget: Sendable {
    /// What is left: values looked at, and characters of texts that patterns look at.
    public private(set) var left: Int

    public init(steps: Int) { left = steps }

    /// Takes away some of it.
    ///
    /// - Throws: ``FilterMatcherError/tooMuchWork`` when there is not as much.
    public mutating func spend(_ steps: Int) throws(FilterMatcherError) {
        left -= steps
        guard left >= 0 else { throw .tooMuchWork }
    }

    /// Takes away what a comparison of two texts takes.
    mutating func spend(comparing left: Name, _ right: Name) throws(FilterMatcherError) {
        try spend(1 + min(left.utf8.count, right.utf8.count) >> 5)
    }

    /// Does something with a part of what is left.
    ///
    /// - Parameter steps: The most that it may take.
    public mutating func lend<R>(
        atMost steps: Int, _ body: (inout MatchBudget) throws(FilterMatcherError) -> R
    ) throws(FilterMatcherError) -> R {
        let lent = max(0, min(steps, left))
        var part = MatchBudget(steps: lent)
        defer { left -= lent - max(0, part.left) }
        return try body(&part)
    }
}

/// What a matcher takes in memory: far more than its filter had as JSON, where patterns repeat.
struct MatcherWeight {
    /// Maximum steps of all patterns in a filter. Repetitions are expanded, and each step visits each character.
    private static let mostSteps = 20_000
    /// Bytes counted per condition, list value and pattern step.
    private static let (condition, value, step) = (128, 40, 24)

    /// Approximate.
    private(set) var bytes = 0
    private(set) var stepsLeft = Self.mostSteps

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
