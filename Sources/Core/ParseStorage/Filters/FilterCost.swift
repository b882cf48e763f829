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

    fileprivate mutating func add(_ filter: Filter) {
        filter.visitLeaves { leaf in
            if case .field(_, let constraint) = leaf { add(constraint) }
        }
    }

    private mutating func add(_ constraint: Constraint) {
        switch constraint {
        case .regex(let pattern, let options):
            if RegexPattern.prefix(pattern, options: options) == nil { hasPattern = true }
        case .inQuery(let query), .notInQuery(let query):
            subqueries += 1
            add(query.filter)
        case .someElement(let constraints): for constraint in constraints { add(constraint) }
        case .someObject(let filter): add(filter)
        default: break
        }
    }
}

extension Filter {
    /// The estimated cost, including all inner queries and conditions on array elements.
    var cost: FilterCost {
        var cost = FilterCost()
        cost.add(self)
        return cost
    }
}
