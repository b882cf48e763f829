/// Counts the parts of a query and compares them with ``HardLimits``.
struct FilterSize {
    private var conditions = 0
    private var subqueries = 0
    private var listValues = 0

    /// Adds the parts of a filter. Throws 102 if a limit is exceeded.
    mutating func add(_ filter: Filter) throws(ParseError) {
        switch filter {
        case .all(let parts), .any(let parts), .none(let parts):
            // Even an empty group counts, because it becomes a pair of parentheses in SQL.
            try addCondition()
            for part in parts { try add(part) }
        case .field(_, let constraint):
            try addCondition()
            try add(constraint)
        case .related:
            try addCondition()
            try addSubquery()
        }
    }

    private mutating func add(_ constraint: Constraint) throws(ParseError) {
        switch constraint {
        case .isIn(let values), .notIn(let values), .containedBy(let values): try addValues(values.count)
        case .containsAll(let values): try addAll(values.count)
        case .containsAllStarting(let prefixes): try addAll(prefixes.count)
        case .insidePolygon(let points): try addValues(points.count)
        case .inQuery(let query), .notInQuery(let query):
            try addSubquery()
            try add(query.filter)
        case .someElement(let constraints):
            for constraint in constraints {
                try addCondition()
                try add(constraint)
            }
        case .someObject(let filter): try add(filter)
        default: break
        }
    }

    private mutating func addAll(_ count: Int) throws(ParseError) {
        try HardLimits.check(count, atMost: HardLimits.allValues, "values in $all")
        try addCondition(count)
    }

    private mutating func addCondition(_ count: Int = 1) throws(ParseError) {
        conditions += count
        try HardLimits.check(conditions, atMost: HardLimits.conditions, "conditions")
    }

    private mutating func addSubquery() throws(ParseError) {
        subqueries += 1
        try HardLimits.check(subqueries, atMost: HardLimits.subqueries, "subqueries")
    }

    private mutating func addValues(_ count: Int) throws(ParseError) {
        listValues += count
        try HardLimits.check(listValues, atMost: HardLimits.listValues, "values")
    }
}
