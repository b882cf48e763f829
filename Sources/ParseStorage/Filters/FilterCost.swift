import ParseModel

/// How long a condition may keep the database busy.
enum FilterCost: Comparable {
    /// Not long: other statements can wait behind it.
    case short
    /// Long, growing with the number of objects.
    case long
    /// Long, growing with what a caller writes: a regular expression.
    case pattern
}

extension Filter {
    /// The cost of the condition, with all queries inside it.
    var cost: FilterCost {
        var cost = FilterCost.short
        visitLeaves { leaf in
            guard case .field(_, let constraint) = leaf else { return }
            switch constraint {
            case .regex(let pattern, let options):
                if RegexPattern.prefix(pattern, options: options) == nil { cost = .pattern }
            case .text, .near, .insideCircle, .insidePolygon: cost = max(cost, .long)
            case .inQuery(let query), .notInQuery(let query): cost = max(cost, query.filter.cost)
            default: break
            }
        }
        return cost
    }
}
