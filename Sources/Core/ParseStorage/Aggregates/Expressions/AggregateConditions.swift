import JSON
import ParseModel
import Postgres

/// Compiles Boolean expressions.
extension AggregateExpressions {
    /// Returns an expression as an SQL Boolean that is never NULL.
    mutating func truth(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        guard let (name, operand) = AggregateOperand.operator(in: value), AggregateOperators.isCondition(name) else {
            return "roost_truth(\(try expression(value, document)))"
        }
        return try counted { compiler throws(ParseError) in
            try compiler.logical(name, operand.arrayValue ?? [operand], document)
        }
    }

    /// Compiles an operator for which ``AggregateOperators/isCondition(_:)`` is true.
    mutating func logical(_ name: Name, _ operands: [JSONValue], _ document: AggregateDocument) throws(ParseError)
        -> String
    {
        try HardLimits.check(operands.count, atMost: HardLimits.expressions, "operands")
        if let symbol = AggregateOperators.comparisons[name], operands.count == 2 {
            return try comparison(symbol, operands[0], operands[1], document)
        }
        guard !operands.isEmpty, AggregateOperators.comparisons[name] == nil, name != "$not" || operands.count == 1
        else {
            throw AggregateOperand.malformed(name.text)
        }
        let parts = try operands.map { operand throws(ParseError) in try truth(operand, document) }
        return name == "$not" ? "NOT \(parts[0])" : "(\(parts.joined(separator: name == "$and" ? " AND " : " OR ")))"
    }

    /// Compares values by type first. A missing value sorts before null and equals only another missing value.
    private mutating func comparison(
        _ symbol: String, _ one: JSONValue, _ other: JSONValue, _ document: AggregateDocument
    ) throws(ParseError) -> String {
        let types = (Self.sortedType(of: one, document), Self.sortedType(of: other, document))
        let left = try expression(types.1 == .date ? AggregateOperand.dated(one) : one, document)
        let right = try expression(types.0 == .date ? AggregateOperand.dated(other) : other, document)
        // Values of the same known type compare like their jsonb forms. Only columns among them can be missing.
        if let type = types.0, type == types.1 {
            return "(COALESCE(\(left), 'null') \(symbol) COALESCE(\(right), 'null'))"
        }
        return "(roost_compare(\(left), \(right)) \(symbol) 0)"
    }

    /// Returns the type of a value if it is known and its jsonb order equals MongoDB's order.
    private static func sortedType(of value: JSONValue, _ document: AggregateDocument) -> FieldType? {
        if let column = AggregateNames.column(value, document) {
            return AggregateRow.keepsOrder(column.type) ? column.type : nil
        }
        return switch value {
        case .number: .number
        case .bool: .boolean
        case .string(let text): text.hasPrefix("$") ? nil : .string
        case .object(let object): object["__type"] == "Date" ? .date : nil
        case .null, .array: nil
        }
    }

    /// Splits a `$expr` into one or two mutually exclusive conditions that together select its rows. A condition may be
    /// NULL instead of false.
    ///
    /// If a text or pointer column is compared with a value from outside the row, the condition uses the column itself,
    /// so that PostgreSQL can use its index. Rows without the field are selected separately, since there may be many of
    /// them and the value is rarely missing.
    mutating func selections(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        guard let (name, operand) = AggregateOperand.operator(in: value), let operands = operand.arrayValue,
            !operands.isEmpty,
            name == "$and" || name == "$eq" && operands.count == 2
        else { return [try truth(value, document)] }
        if name == "$and" {
            var selections = ["TRUE"]
            for operand in operands {
                // Compiling the operands checks the depth limit.
                let parts =
                    AggregateOperand.operator(in: operand)?.name == "$eq" ? try self.selections(operand, document) : []
                switch (selections.count, parts.count) {
                case (_, 0):
                    let condition = try truth(operand, document)
                    selections = selections.map { "\($0) AND \(condition)" }
                case (2, 2): selections = selections.map { "\($0) AND (\(parts.joined(separator: " OR ")))" }
                default:
                    selections = selections.flatMap { selection in parts.map { "\(selection) AND \($0)" } }
                }
            }
            return selections
        }
        for (field, other) in [(operands[0], operands[1]), (operands[1], operands[0])]
        where AggregateOperand.isOuter(other) {
            if let selections = try indexed(field, other, document) { return selections }
        }
        return [try truth(value, document)]
    }

    /// Returns conditions that select the rows whose text column or stored pointer equals a value, or nil for other
    /// fields.
    private mutating func indexed(_ field: JSONValue, _ other: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> [String]?
    {
        guard case .row(let schema) = document, let text = field.stringValue, text.hasPrefix("$"),
            !text.hasPrefix("$$")
        else { return nil }
        let name = String(text.dropFirst())
        if let (column, target) = try AggregateNames.storedPointer(name, of: schema) {
            let value = try expression(other, document)
            return [
                "\(column) = roost_stored_id(\(value), \(SQL.literal(target.text + "$")))",
                "\(column) IS NULL AND \(value) IS NULL",
            ]
        }
        guard let (column, type) = AggregateNames.column(named: name, document), case .string = type else { return nil }
        let value = try expression(other, document)
        let equality = "\(column) = CASE jsonb_typeof(\(value)) WHEN 'string' THEN \(value) #>> '{}' END"
        let isPresent = SystemClass.field(queriedAs: name) == "objectId" || other.stringValue?.hasPrefix("$") == false
        return isPresent ? [equality] : [equality, "\(column) IS NULL AND \(value) IS NULL"]
    }
}
