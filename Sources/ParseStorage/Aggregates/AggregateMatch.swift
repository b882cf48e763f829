import JSON
import ParseModel

extension AggregateCompiler {
    private static let groups: Set<Name> = ["$and", "$or", "$nor"]

    /// A `$match` as a condition.
    mutating func condition(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let conditions = try conditions(operand, document)
        return conditions.count == 1 ? conditions[0] : conditions.map { "(\($0))" }.joined(separator: " OR ")
    }

    /// A `$match` as conditions that together select its rows, and exclude each other.
    mutating func conditions(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        guard let object = operand.objectValue else {
            throw ParseError(ParseError.invalidQuery, "$match needs an object")
        }
        var others = try StoredFieldNames.condition(object)
        guard let expression = others.removeValue(forKey: "$expr") else { return [try condition(others, document)] }
        let selections = try selections(expression, document)
        guard !others.isEmpty else { return selections }
        let condition = try condition(others, document)
        return selections.map { "\($0) AND (\(condition))" }
    }

    /// Groups with a `$expr` inside are taken apart here, since only pipelines have expressions.
    private mutating func condition(_ object: JSONObject, _ document: AggregateDocument) throws(ParseError) -> String {
        var plain = object
        var conditions: [String] = []
        if let expression = plain.removeValue(forKey: "$expr") {
            conditions.append(try truth(expression, document))
        }
        for (name, list) in object where Self.groups.contains(name) && Self.hasExpression(list) {
            plain.removeValue(forKey: name)
            var parts: [String] = []
            for element in list.arrayValue ?? [] {
                guard let part = element.objectValue else {
                    throw ParseError(ParseError.invalidQuery, "Bad \(name) format - use an array value.")
                }
                parts.append("(\(try condition(part, document)))")
            }
            let joined = parts.joined(separator: name == "$and" ? " AND " : " OR ")
            conditions.append(name == "$nor" ? "NOT COALESCE(\(joined), FALSE)" : "(\(joined))")
        }
        if !plain.isEmpty || conditions.isEmpty {
            let parser = FilterParser(isMaster: true, now: now, isAggregation: true)
            var compiler = FilterCompiler(schemas: schemas, builder: builder)
            if case .json(let document) = document { compiler.document = document }
            conditions.append(try compiler.compile(try parser.parse(plain), schema))
            builder = compiler.builder
        }
        return conditions.joined(separator: " AND ")
    }

    private static func hasExpression(_ list: JSONValue) -> Bool {
        list.arrayValue?.contains { element in
            element.objectValue?.contains { $0.key == "$expr" || groups.contains($0.key) && hasExpression($0.value) }
                ?? false
        } ?? false
    }
}
