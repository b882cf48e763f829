import JSON
import ParseModel

extension AggregateCompiler {
    private static let groups: Set<Name> = ["$and", "$or", "$nor"]

    mutating func condition(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        let conditions = try conditions(operand, document)
        return conditions.count == 1 ? conditions[0] : conditions.map { "(\($0))" }.joined(separator: " OR ")
    }

    /// Compiles a `$match` to mutually exclusive conditions that together select its rows.
    mutating func conditions(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        guard let object = operand.objectValue else {
            throw ParseError(ParseError.invalidQuery, "$match needs an object")
        }
        var others = try StoredFieldNames.condition(object)
        guard let expression = others.removeValue(forKey: "$expr") else { return [try condition(others, document)] }
        let selections = try expressions.selections(expression, document)
        guard !others.isEmpty else { return selections }
        let condition = try condition(others, document)
        return selections.map { "\($0) AND (\(condition))" }
    }

    /// Compiles groups that contain a `$expr` here, since filters outside pipelines don't support it.
    private mutating func condition(_ object: JSONObject, _ document: AggregateDocument) throws(ParseError) -> String {
        var plain = object
        var conditions: [String] = []
        if let expression = plain.removeValue(forKey: "$expr") {
            conditions.append(try expressions.truth(expression, document))
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
            let parser = FilterParser(isMaster: true, now: expressions.now, isAggregation: true)
            var compiler = FilterCompiler(schemas: schemas, builder: expressions.builder)
            if case .json(let document) = document {
                compiler.document = document
                plain = dated(plain)
            }
            conditions.append(try compiler.compile(try parser.parse(plain), schema))
            expressions.builder = compiler.builder
        }
        return conditions.joined(separator: " AND ")
    }

    /// Converts ISO strings to dates if they are compared with a date field of a document, as for columns.
    private func dated(_ condition: JSONObject) -> JSONObject {
        var dated = condition
        for (name, value) in condition {
            if Self.groups.contains(name) {
                let parts = value.arrayValue?.map { part in part.objectValue.map { .object(self.dated($0)) } ?? part }
                dated[name] = parts.map { .array($0) } ?? value
            } else if case .date = schema.type(of: SystemClass.field(queriedAs: name.text)) {
                dated[name] = Self.comparedDate(value)
            }
        }
        return dated
    }

    private static func comparedDate(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let list): .array(list.map(AggregateOperand.dated))
        case .object(let object) where object["__type"] == nil:
            .object(
                object.mapValues {
                    $0.arrayValue.map { .array($0.map(AggregateOperand.dated)) } ?? AggregateOperand.dated($0)
                })
        default: AggregateOperand.dated(value)
        }
    }

    private static func hasExpression(_ list: JSONValue) -> Bool {
        list.arrayValue?.contains { element in
            element.objectValue?.contains { $0.key == "$expr" || groups.contains($0.key) && hasExpression($0.value) }
                ?? false
        } ?? false
    }
}
