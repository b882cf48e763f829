import JSON
import ParseModel
import Postgres

/// Compiles the expressions of an aggregation pipeline to SQL.
struct AggregateExpressions {
    /// The reference time for relative dates, in milliseconds since 1970.
    let now: Int64
    var builder = SQLBuilder()
    /// The SQL of each variable `$$name`, as jsonb.
    var variables: [Name: String] = [:]
    private var uniqueNames = 0
    private var expressionCount = 0
    private var expressionDepth = 0

    init(now: Int64) { self.now = now }

    mutating func uniqueName(_ kind: String) -> String {
        uniqueNames += 1
        return "_roost_\(kind)\(uniqueNames)"
    }

    /// Counts an expression and its depth while `body` compiles it.
    ///
    /// - Throws: 102 if a limit in ``HardLimits`` is exceeded.
    mutating func counted(_ body: (inout AggregateExpressions) throws(ParseError) -> String) throws(ParseError)
        -> String
    {
        expressionCount += 1
        try HardLimits.check(expressionCount, atMost: HardLimits.expressions, "expressions")
        expressionDepth += 1
        defer { expressionDepth -= 1 }
        try HardLimits.check(expressionDepth, atMost: HardLimits.expressionDepth, "nested expressions")
        return try body(&self)
    }

    /// Compiles an expression to jsonb, or NULL for a missing field.
    mutating func expression(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        try counted { compiler throws(ParseError) in try compiler.uncounted(value, document) }
    }

    private mutating func uncounted(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        switch value {
        case .string(let text) where text.hasPrefix("$$"): return try variable(String(text.dropFirst(2)), document)
        case .string(let text) where text.hasPrefix("$"): return try builder.field(String(text.dropFirst()), document)
        case .array(let list):
            if list.allSatisfy(AggregateOperand.isConstant) { return builder.literal(value) }
            let items = try list.map { item throws(ParseError) in try expression(item, document) }
            return AggregateOperators.list(items)
        case .object(let object):
            if object["__type"] != nil {
                let iso = object["__type"] == "Date" ? object["iso"]?.stringValue : nil
                // Dates are compared in their JSON form, so the text is normalized.
                return builder.literal(iso.flatMap(ParseDate.init(iso:))?.json ?? value)
            }
            if let (name, operand) = AggregateOperand.operator(in: value) {
                return try operation(name.text, operand, document)
            }
            var names: [String] = []
            var values: [String] = []
            for (key, member) in object {
                guard !key.hasPrefix("$") else { throw AggregateOperand.malformed(key.text) }
                names.append(try AggregateNames.checked(key.text))
                values.append(try expression(member, document))
            }
            guard !names.isEmpty else { return "'{}'::jsonb" }
            // `roost_object` leaves out members with missing values.
            return "roost_object(\(builder.bind(.textArray(names))), ARRAY[\(values.joined(separator: ", "))]::jsonb[])"
        default: return builder.literal(value)
        }
    }

    /// Compiles an expression to a double precision number. Other values become NULL.
    mutating func number(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = AggregateNames.column(value, document), column.type == .number { return column.name }
        if let number = value.numberValue { return "\(builder.bind(.double(number)))::double precision" }
        return "roost_number(\(try expression(value, document)))"
    }

    /// Compiles an expression to a UTC timestamp with millisecond precision, as in JSON. ISO 8601 texts count as dates.
    /// Other values become NULL.
    mutating func time(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = AggregateNames.column(value, document), column.type == .date {
            return "date_trunc('milliseconds', \(column.name) AT TIME ZONE 'UTC')"
        }
        return "roost_time(\(try expression(value, document)))"
    }

    /// Returns the dates whose parts a group's `_id` object uses.
    mutating func dates(of id: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        var dates: [String] = []
        for (_, member) in id.objectValue ?? [:] {
            guard let operation = member.objectValue, operation.count == 1, let (name, date) = operation.elements.first,
                AggregateOperators.dateParts[name] != nil
            else { continue }
            dates.append(try expression(date, document))
        }
        return dates
    }

    private mutating func operation(_ name: String, _ operand: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String
    {
        switch name {
        case "$literal": return builder.literal(operand)
        case "$cond": return try choice(operand, document)
        default: break
        }
        if let result = try scope(name, operand, document) { return result }
        if let result = try conversion(name, operand, document) { return result }
        if let result = try dateCalculation(name, operand, document) { return result }
        if let part = AggregateOperators.dateParts[name] {
            return "COALESCE(to_jsonb(\(part(try partedTime(operand, name, document)))), 'null')"
        }
        let operands = operand.arrayValue ?? [operand]
        if AggregateOperators.isCondition(Name(name)) {
            return "to_jsonb(\(try logical(Name(name), operands, document)))"
        }
        guard !operands.isEmpty else { throw AggregateOperand.malformed(name) }
        try HardLimits.check(operands.count, atMost: HardLimits.expressions, "operands")
        if name == "$add" || name == "$subtract", !operands.allSatisfy({ Self.isNumeric($0, document) }) {
            return try dateArithmetic(name, operands, document)
        }
        if let calculation = AggregateOperators.calculations[name] {
            let numbers = try operands.map { operand throws(ParseError) in try number(operand, document) }
            guard let result = calculation(numbers) else { throw AggregateOperators.unknown(name) }
            return "COALESCE(roost_json(\(result)), 'null')"
        }
        let arguments = try operands.map { operand throws(ParseError) in try expression(operand, document) }
        switch name {
        case "$ifNull" where arguments.count > 1:
            let tested = arguments.dropLast().map { "NULLIF(\($0), 'null')" }
            return "COALESCE(\((tested + arguments.suffix(1)).joined(separator: ", ")))"
        default: return try AggregateOperators.result(of: name, arguments)
        }
    }

    /// Whether a value certainly isn't a date.
    private static func isNumeric(_ value: JSONValue, _ document: AggregateDocument) -> Bool {
        if let column = AggregateNames.column(value, document) {
            if case .date = column.type { return false }
            return true
        }
        guard let (name, operand) = AggregateOperand.operator(in: value) else { return value.numberValue != nil }
        guard name == "$add" || name == "$subtract" else {
            return AggregateOperators.calculations[name] != nil || AggregateOperators.dateParts[name] != nil
                || AggregateOperators.counts.contains(name)
        }
        return (operand.arrayValue ?? [operand]).allSatisfy { isNumeric($0, document) }
    }

    /// Compiles `$add` and `$subtract` of values that may be dates. Numbers count in milliseconds.
    private mutating func dateArithmetic(_ name: String, _ operands: [JSONValue], _ document: AggregateDocument)
        throws(ParseError) -> String
    {
        let arguments = try operands.map { operand throws(ParseError) in try expression(operand, document) }
        if name == "$add" { return "roost_plus(\(AggregateOperators.list(arguments)))" }
        guard arguments.count == 2 else { throw AggregateOperators.unknown(name) }
        return "roost_minus(\(arguments[0]), \(arguments[1]))"
    }

    /// Compiles `$cond`, whose operands are a list or named members.
    private mutating func choice(_ operand: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        var parts = operand.arrayValue ?? []
        if operand.arrayValue == nil {
            let members = try AggregateOperand.members(of: operand, "$cond", ["if", "then", "else"])
            parts = [members["if"], members["then"], members["else"]].compactMap(\.self)
        }
        guard parts.count == 3 else { throw AggregateOperand.malformed("$cond") }
        let (yes, no) = (try expression(parts[1], document), try expression(parts[2], document))
        return "CASE WHEN \(try truth(parts[0], document)) THEN \(yes) ELSE \(no) END"
    }
}
