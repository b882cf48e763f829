import JSON

/// Parsing of subqueries.
extension FilterParser {
    func subquery(_ name: String, _ operand: JSONValue, depth: Int) throws(ParseError) -> Constraint {
        try check(depth: depth, limits.subqueryDepth, "Subquery")
        let isSelect = name == "$select" || name == "$dontSelect"
        let body = isSelect ? operand["query"]?.objectValue : operand.objectValue
        guard let body, let className = body["className"]?.stringValue,
            !isSelect || (operand["key"]?.stringValue != nil && operand.objectValue?.count == 2),
            isSelect || !requiresInnerCondition || body["where"] != nil
        else { throw ParseError(ParseError.invalidQuery, "improper usage of \(name)") }
        if isSelect, let key = operand["key"]?.stringValue { try check(key) }
        let condition = try Self.condition(body["where"], of: name)
        var query = Subquery(
            className: className,
            filter: try parse(condition, depth: 0, subqueries: depth, insideNor: false),
            key: isSelect ? operand["key"]?.stringValue.map(FieldPath.init) : nil,
            redirectKey: body["redirectClassNameForKey"]?.stringValue,
            order: try SortKey.limited(body["order"]),
            limit: body["limit"]?.parameterInteger,
            skip: body["skip"]?.parameterInteger ?? 0)
        if let limit = limits.subqueryLimit, !isMaster { query.limit = min(query.limit ?? limit, limit) }
        return name == "$inQuery" || name == "$select" ? .inQuery(query) : .notInQuery(query)
    }

    /// Returns the condition of a subquery. The iOS SDK omits `where` to select all objects.
    private static func condition(_ value: JSONValue?, of name: String) throws(ParseError) -> JSONObject {
        switch value {
        case nil: return [:]
        case .object(let object): return object
        default: throw ParseError(ParseError.invalidQuery, "improper usage of \(name)")
        }
    }
}
