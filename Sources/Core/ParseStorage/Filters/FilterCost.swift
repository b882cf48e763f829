import ParseModel

/// The estimated cost of a condition.
struct FilterCost {
    /// Whether the condition contains a regular expression other than a plain prefix (`^abc`). Its run time depends on
    /// the pattern.
    var hasPattern = false
    /// The number of inner queries.
    var subqueries = 0

    /// Whether planning takes long enough to delay other requests.
    var isSlow: Bool { subqueries > 3 }
}

extension Filter {
    /// The estimated cost, including all inner queries.
    var cost: FilterCost {
        var cost = FilterCost()
        visitLeaves { leaf in
            guard case .field(_, let constraint) = leaf else { return }
            switch constraint {
            case .regex(let pattern, let options):
                if RegexPattern.prefix(pattern, options: options) == nil { cost.hasPattern = true }
            case .inQuery(let query), .notInQuery(let query):
                let inner = query.filter.cost
                cost.hasPattern = cost.hasPattern || inner.hasPattern
                cost.subqueries += 1 + inner.subqueries
            default: break
            }
        }
        return cost
    }
}
