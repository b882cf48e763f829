import JSON
import ParseModel
import Postgres

extension AggregateCompiler {
    /// An expression of a pipeline as a jsonb expression of SQL; NULL for a field that is missing.
    mutating func expression(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        switch value {
        case .string(let text) where text == "$$ROOT":
            switch document {
            case .row(let schema): return self.document(schema)
            case .json(let document): return document
            }
        case .string(let text) where text.hasPrefix("$"): return try field(String(text.dropFirst()), document)
        case .array(let list):
            var items: [String] = []
            for item in list { items.append(try expression(item, document)) }
            return "jsonb_build_array(\(items.joined(separator: ", ")))"
        case .object(let object):
            if object["__type"] != nil { return literal(value) }
            if object.count == 1, let (name, operand) = object.elements.first.map({ ($0.key, $0.value) }),
                name.hasPrefix("$")
            {
                return try operation(name, operand, document)
            }
            var members: [(String, String)] = []
            for (key, member) in object {
                guard !key.hasPrefix("$") else { throw Self.malformed(key) }
                let name = builder.bind(.text(try Self.checked(key)))
                members.append(("\(name)::text", try expression(member, document)))
            }
            return members.isEmpty ? "'{}'::jsonb" : "(\(Self.object(members)))"
        default: return literal(value)
        }
    }

    /// An expression as a number of SQL, double precision; NULL for what is none.
    mutating func number(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = Self.column(value, document), column.type == .number { return column.name }
        if let number = value.numberValue { return "\(builder.bind(.double(number)))::double precision" }
        return "roost_number(\(try expression(value, document)))"
    }

    /// An expression as a time of SQL, in UTC and exact to the millisecond, as dates travel; NULL for what is none.
    private mutating func time(_ value: JSONValue, _ document: AggregateDocument) throws(ParseError) -> String {
        if let column = Self.column(value, document), column.type == .date {
            return "date_trunc('milliseconds', \(column.name) AT TIME ZONE 'UTC')"
        }
        return "roost_time(\(try expression(value, document)))"
    }

    private mutating func literal(_ value: JSONValue) -> String {
        FilterCompiler.bytes(value).map { builder.bind(json: $0) } ?? "NULL::jsonb"
    }

    /// The part of a date that an expression takes, by the name of `extract`.
    private static let dateParts: [String: String] = [
        "$year": "year", "$month": "month", "$dayOfMonth": "day", "$hour": "hour", "$minute": "minute",
        "$dayOfYear": "doy", "$isoDayOfWeek": "isodow", "$isoWeekYear": "isoyear", "$week": "week", "$isoWeek": "week",
    ]

    private static let computedDateParts: Set<String> = ["$dayOfWeek", "$second", "$millisecond"]

    /// The dates of which a group's id, an object, takes parts.
    mutating func dates(of id: JSONValue, _ document: AggregateDocument) throws(ParseError) -> [String] {
        var dates: [String] = []
        for (_, member) in id.objectValue ?? [:] {
            guard let operation = member.objectValue, operation.count == 1, let (name, date) = operation.elements.first,
                Self.dateParts[name] != nil || Self.computedDateParts.contains(name)
            else { continue }
            dates.append(try expression(date, document))
        }
        return dates
    }

    private static let comparisons: [String: String] = [
        "$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=",
    ]

    private static let functions: [String: String] = [
        "$abs": "abs", "$ceil": "ceil", "$floor": "floor", "$sqrt": "sqrt", "$trunc": "trunc",
    ]

    private mutating func operation(_ name: String, _ operand: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String
    {
        if name == "$literal" { return literal(operand) }
        let operands = operand.arrayValue ?? [operand]
        guard let first = operands.first else { throw Self.malformed(name) }
        if let part = try datePart(name, first, document) { return "to_jsonb(\(part))" }
        if let result = try arithmetic(name, operands, document) { return "to_jsonb(\(result))" }
        var arguments: [String] = []
        for operand in operands { arguments.append(try expression(operand, document)) }
        switch name {
        case "$ifNull" where arguments.count == 2: return "COALESCE(NULLIF(\(arguments[0]), 'null'), \(arguments[1]))"
        case "$cond": return try condition(operand, arguments, document)
        case "$arrayElemAt" where arguments.count == 2:
            return "(\(arguments[0]) -> (roost_number(\(arguments[1]))::int))"
        default: break
        }
        guard let result = Self.comparison(name, arguments) ?? Self.text(name, arguments) else {
            throw ParseError(ParseError.invalidQuery, "Invalid aggregate expression '\(name)'.")
        }
        return "to_jsonb(\(result))"
    }

    /// A part of a date, as a number of SQL; nil for other operations.
    private mutating func datePart(_ name: String, _ date: JSONValue, _ document: AggregateDocument)
        throws(ParseError) -> String?
    {
        if let part = Self.dateParts[name] { return "extract(\(part) FROM \(try time(date, document)))" }
        switch name {
        case "$dayOfWeek": return "extract(dow FROM \(try time(date, document))) + 1"
        case "$second": return "floor(extract(second FROM \(try time(date, document))))"
        case "$millisecond": return "mod(extract(milliseconds FROM \(try time(date, document)))::int, 1000)"
        default: return nil
        }
    }

    private static let arithmetic: Set<String> = ["$add", "$multiply", "$subtract", "$divide", "$mod", "$round"]

    /// A calculation, as a number of SQL; nil for other operations.
    private mutating func arithmetic(_ name: String, _ operands: [JSONValue], _ document: AggregateDocument)
        throws(ParseError) -> String?
    {
        let function = Self.functions[name]
        guard function != nil || Self.arithmetic.contains(name) else { return nil }
        var numbers: [String] = []
        for operand in operands { numbers.append(try number(operand, document)) }
        if let function { return "\(function)(\(numbers[0]))" }
        switch (name, numbers.count) {
        case ("$add", _): return numbers.joined(separator: " + ")
        case ("$multiply", _): return numbers.joined(separator: " * ")
        case ("$subtract", 2): return "\(numbers[0]) - \(numbers[1])"
        case ("$divide", 2): return "\(numbers[0]) / NULLIF(\(numbers[1]), 0)"
        case ("$mod", 2):
            return "mod(\(numbers[0])::numeric, NULLIF(\(numbers[1]), 0)::numeric)::double precision"
        case ("$round", let count):
            let places = count > 1 ? "\(numbers[1])::int" : "0"
            return "round(\(numbers[0])::numeric, \(places))::double precision"
        default: return nil
        }
    }

    /// What is true or false, as a truth value of SQL; nil for other operations.
    private static func comparison(_ name: String, _ arguments: [String]) -> String? {
        if let symbol = comparisons[name], arguments.count == 2 {
            return "COALESCE(\(arguments[0]), 'null') \(symbol) COALESCE(\(arguments[1]), 'null')"
        }
        switch name {
        case "$and": return arguments.map { "roost_truth(\($0))" }.joined(separator: " AND ")
        case "$or": return arguments.map { "roost_truth(\($0))" }.joined(separator: " OR ")
        case "$not": return "NOT roost_truth(\(arguments[0]))"
        case "$in" where arguments.count == 2:
            return "COALESCE(\(arguments[0]) = ANY(ARRAY(SELECT jsonb_array_elements("
                + "\(FilterCompiler.array(arguments[1]))))), FALSE)"
        default: return nil
        }
    }

    /// A text or the length of one, or of an array, as a value of SQL; nil for other operations.
    private static func text(_ name: String, _ arguments: [String]) -> String? {
        let text = "\(arguments[0]) #>> '{}'"
        switch name {
        case "$concat": return arguments.map { "(\($0) #>> '{}')" }.joined(separator: " || ")
        case "$toUpper": return "upper(COALESCE(\(text), ''))"
        case "$toLower": return "lower(COALESCE(\(text), ''))"
        case "$strLenCP": return "length(\(text))"
        case "$substr", "$substrCP", "$substrBytes":
            guard arguments.count == 3 else { return nil }
            let length = "roost_number(\(arguments[2]))"
            return "substr(COALESCE(\(text), ''), roost_number(\(arguments[1]))::int + 1, "
                + "(CASE WHEN \(length) < 0 THEN 1000000000 ELSE \(length) END)::int)"
        case "$size": return "jsonb_array_length(\(FilterCompiler.array(arguments[0])))"
        default: return nil
        }
    }

    private mutating func condition(_ operand: JSONValue, _ arguments: [String], _ document: AggregateDocument)
        throws(ParseError)
        -> String
    {
        var parts = arguments
        if let test = operand["if"], let yes = operand["then"], let no = operand["else"] {
            parts = [try expression(test, document), try expression(yes, document), try expression(no, document)]
        }
        guard parts.count == 3 else { throw Self.malformed("$cond") }
        return "CASE WHEN roost_truth(\(parts[0])) THEN \(parts[1]) ELSE \(parts[2]) END"
    }
}
