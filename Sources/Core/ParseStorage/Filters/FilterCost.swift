import ParseModel

/// The estimated cost of a condition before it runs.
struct FilterCost {
    /// Whether its time depends on the caller's text: it has a regular expression.
    var hasPattern = false
    /// The queries inside the condition.
    var subqueries = 0

    /// Whether planning it would delay other requests.
    var takesLongToPlan: Bool { subqueries > 3 }
}

extension Filter {
    /// The cost of the condition, with all queries inside it.
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
