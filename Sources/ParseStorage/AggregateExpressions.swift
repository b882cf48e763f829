import JSON
import ParseModel
import Postgres

extension AggregateCompiler {
    /// An expression of a pipeline as a jsonb expression of SQL; NULL for a field that is missing.
    mutating func expression(_ value: JSONValue, _ document: String) throws(ParseError) -> String {
        switch value {
        case .string(let text) where text == "$$ROOT": return document
        case .string(let text) where text.hasPrefix("$"):
            return "(\(document) #> \(try path(String(text.dropFirst()))))"
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
            var pairs: [String] = []
            for (key, member) in object {
                guard !key.hasPrefix("$") else { throw Self.malformed(key) }
                let name = builder.bind(.text(try Self.checked(key)))
                pairs.append("(\(name)::text, \(try expression(member, document)))")
            }
            guard !pairs.isEmpty else { return "'{}'::jsonb" }
            return
                "(SELECT jsonb_object_agg(k, COALESCE(v, 'null')) FROM (VALUES \(pairs.joined(separator: ", "))) AS f(k, v))"
        default: return literal(value)
        }
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
    mutating func dates(of id: JSONValue) throws(ParseError) -> [String] {
        var dates: [String] = []
        for (_, member) in id.objectValue ?? [:] {
            guard let operation = member.objectValue, operation.count == 1, let (name, date) = operation.elements.first,
                Self.dateParts[name] != nil || Self.computedDateParts.contains(name)
            else { continue }
            dates.append(try expression(date, "doc"))
        }
        return dates
    }

    private static let comparisons: [String: String] = [
        "$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=",
    ]

    private static let functions: [String: String] = [
        "$abs": "abs", "$ceil": "ceil", "$floor": "floor", "$sqrt": "sqrt", "$trunc": "trunc",
    ]

    private mutating func operation(_ name: String, _ operand: JSONValue, _ document: String) throws(ParseError)
        -> String
    {
        if name == "$literal" { return literal(operand) }
        var arguments: [String] = []
        for argument in operand.arrayValue ?? [operand] { arguments.append(try expression(argument, document)) }
        guard let first = arguments.first else { throw Self.malformed(name) }
        if let part = Self.dateParts[name] { return "to_jsonb(extract(\(part) FROM roost_time(\(first))))" }
        if let symbol = Self.comparisons[name], arguments.count == 2 {
            return "to_jsonb(COALESCE(\(first), 'null') \(symbol) COALESCE(\(arguments[1]), 'null'))"
        }
        if let function = Self.functions[name] { return "to_jsonb(\(function)(roost_number(\(first))))" }
        let numbers = arguments.map { "roost_number(\($0))" }
        switch name {
        case "$add": return "to_jsonb(\(numbers.joined(separator: " + ")))"
        case "$multiply": return "to_jsonb(\(numbers.joined(separator: " * ")))"
        case "$subtract" where numbers.count == 2: return "to_jsonb(\(numbers[0]) - \(numbers[1]))"
        case "$divide" where numbers.count == 2: return "to_jsonb(\(numbers[0]) / NULLIF(\(numbers[1]), 0))"
        case "$mod" where numbers.count == 2:
            return "to_jsonb(mod(\(numbers[0])::numeric, NULLIF(\(numbers[1]), 0)::numeric)::double precision)"
        case "$round":
            let places = numbers.count > 1 ? "\(numbers[1])::int" : "0"
            return "to_jsonb(round(\(numbers[0])::numeric, \(places))::double precision)"
        case "$dayOfWeek": return "to_jsonb(extract(dow FROM roost_time(\(first))) + 1)"
        case "$second": return "to_jsonb(floor(extract(second FROM roost_time(\(first)))))"
        case "$millisecond": return "to_jsonb(mod(extract(milliseconds FROM roost_time(\(first)))::int, 1000))"
        case "$and": return "to_jsonb(\(arguments.map { "roost_truth(\($0))" }.joined(separator: " AND ")))"
        case "$or": return "to_jsonb(\(arguments.map { "roost_truth(\($0))" }.joined(separator: " OR ")))"
        case "$not": return "to_jsonb(NOT roost_truth(\(first)))"
        case "$ifNull" where arguments.count == 2: return "COALESCE(NULLIF(\(first), 'null'), \(arguments[1]))"
        case "$cond": return try condition(operand, arguments, document)
        case "$concat": return "to_jsonb(\(arguments.map { "(\($0) #>> '{}')" }.joined(separator: " || ")))"
        case "$toUpper": return "to_jsonb(upper(COALESCE(\(first) #>> '{}', '')))"
        case "$toLower": return "to_jsonb(lower(COALESCE(\(first) #>> '{}', '')))"
        case "$strLenCP": return "to_jsonb(length(\(first) #>> '{}'))"
        case "$substr", "$substrCP", "$substrBytes":
            guard arguments.count == 3 else { throw Self.malformed(name) }
            let length = "CASE WHEN \(numbers[2]) < 0 THEN 1000000000 ELSE \(numbers[2]) END"
            return "to_jsonb(substr(COALESCE(\(first) #>> '{}', ''), \(numbers[1])::int + 1, (\(length))::int))"
        case "$size":
            return "to_jsonb(jsonb_array_length(CASE WHEN jsonb_typeof(\(first)) = 'array' THEN \(first) END))"
        case "$arrayElemAt" where arguments.count == 2: return "(\(first) -> (\(numbers[1])::int))"
        case "$in" where arguments.count == 2:
            return "to_jsonb(COALESCE(\(first) = ANY(ARRAY(SELECT jsonb_array_elements(CASE WHEN "
                + "jsonb_typeof(\(arguments[1])) = 'array' THEN \(arguments[1]) END))), FALSE))"
        default: throw ParseError(ParseError.invalidQuery, "Invalid aggregate expression '\(name)'.")
        }
    }

    private mutating func condition(_ operand: JSONValue, _ arguments: [String], _ document: String) throws(ParseError)
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
