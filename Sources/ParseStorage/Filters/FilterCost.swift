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
    /// Queries inside of a condition that PostgreSQL plans and carries out in no time; more take longer than others can wait.
    private static let fewSubqueries = 3

    /// The cost of the condition, with all queries inside it.
    var cost: FilterCost {
        var cost = FilterCost.short
        var subqueries = 0
        visitLeaves { leaf in
            guard case .field(let path, let constraint) = leaf else { return }
            // A step that may be a place is looked for in every array on the way.
            if path.steps.contains(where: JSONPath.isPlace) { cost = max(cost, .long) }
            switch constraint {
            case .regex(let pattern, let options):
                if RegexPattern.prefix(pattern, options: options) == nil { cost = .pattern }
            case .text, .near, .insideCircle, .insidePolygon: cost = max(cost, .long)
            case .inQuery(let query), .notInQuery(let query):
                cost = max(cost, query.filter.cost)
                subqueries += 1
                if subqueries > Self.fewSubqueries { cost = max(cost, .long) }
            default: break
            }
        }
        return cost
    }
}
