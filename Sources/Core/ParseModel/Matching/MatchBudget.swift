import JSON

/// The remaining work for matching objects against filters.
///
/// Each condition takes time proportional to the object's size, but a filter can have thousands of conditions and an
/// object thousands of values. The budget limits the product.
public struct MatchBudget: Sendable {
    /// The remaining steps, such as visited values and states of patterns at each character. Negative after an error.
    public private(set) var left: Int

    public init(steps: Int) { left = steps }

    /// Subtracts steps.
    ///
    /// - Throws: ``FilterMatcherError/tooMuchWork`` if not enough are left.
    public mutating func spend(_ steps: Int) throws(FilterMatcherError) {
        left -= steps
        guard left >= 0 else { throw .tooMuchWork }
    }

    /// Subtracts the cost of comparing two strings.
    mutating func spend(comparing left: Name, _ right: Name) throws(FilterMatcherError) {
        try spend(1 + min(left.utf8.count, right.utf8.count) >> 5)
    }

    /// Runs `body` with a part of the budget.
    ///
    /// - Parameter steps: The maximum number of steps that it may use.
    public mutating func lend<R>(
        atMost steps: Int, _ body: (inout MatchBudget) throws(FilterMatcherError) -> R
    ) throws(FilterMatcherError) -> R {
        let lent = max(0, min(steps, left))
        var part = MatchBudget(steps: lent)
        defer { left -= lent - max(0, part.left) }
        return try body(&part)
    }
}

/// Measures the memory size of a matcher, which can far exceed that of the filter's JSON if patterns repeat.
struct MatcherWeight {
    /// Maximum steps of all patterns in a filter. Repetitions are expanded, and each character may be tested at each
    /// step.
    private static let maxSteps = 20_000
    /// Bytes counted per condition, list value and pattern step.
    private static let (condition, value, step) = (128, 40, 24)

    private(set) var bytes = 0
    private(set) var stepsLeft = Self.maxSteps

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

    /// Counts the steps of a pattern.
    mutating func add(steps: Int) {
        bytes += steps * Self.step
        stepsLeft -= steps
    }
}
