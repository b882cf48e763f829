/// The work that is left for the comparison of one object with a filter.
///
/// Each condition is linear in the object, but a filter can have thousands of conditions and an object thousands of
/// values: the product is what this bounds.
struct MatchBudget {
    private var left: Int

    init(steps: Int) { left = steps }

    /// Takes away some of it.
    mutating func spend(_ steps: Int) throws(FilterMatcherError) {
        left -= steps
        guard left >= 0 else { throw .tooMuchWork }
    }
}
