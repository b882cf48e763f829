import JSON
import ParseModel
import Postgres

/// The SQL of expression operators that compute a value from other values.
enum AggregateOperators {
    /// Date parts as SQL numbers, computed from an SQL timestamp.
    static let dateParts: [Name: @Sendable (_ time: String) -> String] = [
        "$year": { "extract(year FROM \($0))" },
        "$month": { "extract(month FROM \($0))" },
        "$dayOfMonth": { "extract(day FROM \($0))" },
        "$hour": { "extract(hour FROM \($0))" },
        "$minute": { "extract(minute FROM \($0))" },
        "$second": { "floor(extract(second FROM \($0)))" },
        "$millisecond": { "mod(extract(milliseconds FROM \($0))::int, 1000)" },
        "$dayOfYear": { "extract(doy FROM \($0))" },
        "$dayOfWeek": { "extract(dow FROM \($0)) + 1" },
        "$isoDayOfWeek": { "extract(isodow FROM \($0))" },
        "$isoWeekYear": { "extract(isoyear FROM \($0))" },
        "$week": { "roost_week(\($0))" },
        "$isoWeek": { "extract(week FROM \($0))" },
    ]

    /// Calculations on at least one SQL number. They return nil for too few or too many operands.
    static let calculations: [Name: @Sendable (_ numbers: [String]) -> String?] = [
        "$abs": { $0.count == 1 ? "abs(\($0[0]))" : nil },
        "$ceil": { $0.count == 1 ? "ceil(\($0[0]))" : nil },
        "$floor": { $0.count == 1 ? "floor(\($0[0]))" : nil },
        "$sqrt": { $0.count == 1 ? "sqrt(\($0[0]))" : nil },
        "$trunc": { $0.count == 1 ? "trunc(\($0[0]))" : rounded("trunc", $0) },
        "$round": { rounded("round", $0) },
        "$exp": { $0.count == 1 ? "exp(\($0[0]))" : nil },
        "$ln": { $0.count == 1 ? "ln(\($0[0]))" : nil },
        "$log10": { $0.count == 1 ? "log(\($0[0]))" : nil },
        "$pow": { $0.count == 2 ? "power(\($0[0]), \($0[1]))" : nil },
        "$add": { $0.joined(separator: " + ") },
        "$multiply": { $0.joined(separator: " * ") },
        "$subtract": { $0.count == 2 ? "\($0[0]) - \($0[1])" : nil },
        "$divide": { $0.count == 2 ? "\($0[0]) / NULLIF(\($0[1]), 0)" : nil },
        "$mod": {
            $0.count == 2 ? "mod(\($0[0])::numeric, NULLIF(\($0[1]), 0)::numeric)::double precision" : nil
        },
    ]

    /// Some other operators that always return a number or null.
    static let counts: Set<Name> = ["$size", "$strLenCP", "$strLenBytes", "$toInt", "$toLong", "$toDouble", "$cmp"]

    /// The comparison operators in SQL.
    static let comparisons: [Name: String] = [
        "$eq": "=", "$ne": "<>", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=",
    ]

    /// Whether an operator compares values or combines conditions.
    static func isCondition(_ name: Name) -> Bool {
        comparisons[name] != nil || ["$and", "$or", "$not"].contains(name)
    }

    private static func rounded(_ function: String, _ numbers: [String]) -> String? {
        guard numbers.count <= 2 else { return nil }
        let digits = numbers.count > 1 ? "\(numbers[1])::int" : "0"
        if function == "round" { return "roost_rounded(\(numbers[0]), \(digits))" }
        return "\(function)(\(numbers[0])::numeric, \(digits))::double precision"
    }

    /// Compiles an operator on at least one jsonb value.
    ///
    /// - Throws: 102 for an unknown operator, or too few or too many operands.
    static func result(of name: String, _ arguments: [String]) throws(ParseError) -> String {
        if let result = element(name, arguments) { return result }
        guard let result = try array(name, arguments) ?? text(name, arguments) ?? other(name, arguments) else {
            throw unknown(name)
        }
        // Only `$arrayElemAt`, `$first` and `$last`, which returned above, can yield a missing value.
        return "COALESCE(\(result), 'null')"
    }

    private static func element(_ name: String, _ arguments: [String]) -> String? {
        switch (name, arguments.count) {
        case ("$arrayElemAt", 2): "roost_element(\(arguments[0]), \(arguments[1]))"
        case ("$first", 1): "roost_element(\(arguments[0]), '0')"
        case ("$last", 1): "roost_element(\(arguments[0]), '-1')"
        default: nil
        }
    }

    private static func other(_ name: String, _ arguments: [String]) -> String? {
        switch (name, arguments.count) {
        case ("$in", 2):
            "to_jsonb(COALESCE(\(arguments[0]) = ANY(ARRAY(SELECT jsonb_array_elements("
                + "roost_array(\(arguments[1]))))), FALSE))"
        case ("$cmp", 2): "to_jsonb(sign(roost_compare(\(arguments[0]), \(arguments[1])))::int)"
        case ("$isNumber", 1): "to_jsonb(COALESCE(jsonb_typeof(\(arguments[0])) = 'number', FALSE))"
        case ("$type", 1): "to_jsonb(roost_type(\(arguments[0])))"
        case ("$mergeObjects", _): "roost_merged(\(list(arguments)))"
        case ("$objectToArray", 1): "roost_pairs(\(arguments[0]))"
        case ("$arrayToObject", 1): "roost_paired(\(arguments[0]))"
        case ("$sum", _), ("$avg", _), ("$min", _), ("$max", _):
            "roost_folded(\(list(arguments)), \(SQL.literal(name)))"
        default: nil
        }
    }

    static func unknown(_ name: String) -> ParseError {
        ParseError(ParseError.invalidQuery, "Invalid aggregate expression '\(name)'.")
    }

    /// Compiles a text operator. Returns nil for other operators, and for too few or too many operands.
    private static func text(_ name: String, _ arguments: [String]) -> String? {
        let operation = SQL.literal(name)
        switch (name, arguments.count) {
        case ("$concat", _): return "roost_concat(\(list(arguments)))"
        case ("$toUpper", 1): return "to_jsonb(upper(roost_text(\(arguments[0]), \(operation))))"
        case ("$toLower", 1): return "to_jsonb(lower(roost_text(\(arguments[0]), \(operation))))"
        case ("$strLenCP", 1): return "to_jsonb(length(roost_string(\(arguments[0]), \(operation))))"
        case ("$strLenBytes", 1): return "to_jsonb(octet_length(roost_string(\(arguments[0]), \(operation))))"
        case ("$indexOfCP", 2...4):
            let places = arguments.dropFirst(2) + Array(repeating: "NULL", count: 4 - arguments.count)
            return "roost_index(\((arguments.prefix(2) + places).joined(separator: ", ")))"
        case ("$split", 2): return "roost_split(\(arguments[0]), \(arguments[1]))"
        case ("$substr", 3), ("$substrCP", 3), ("$substrBytes", 3):
            return "roost_substr(\(arguments.joined(separator: ", ")), \(operation))"
        default: return nil
        }
    }

    /// Builds a jsonb array of SQL values. NULL becomes null.
    static func list(_ items: [String]) -> String {
        guard !items.isEmpty else { return "'[]'::jsonb" }
        // PostgreSQL functions take at most 100 arguments.
        let parts = stride(from: 0, to: items.count, by: 100).map { start in
            "jsonb_build_array(\(items[start..<min(start + 100, items.count)].joined(separator: ", ")))"
        }
        return "(\(parts.joined(separator: " || ")))"
    }

    /// The array operators with a fixed number of operands.
    private static let arrayOperands: [Name: Int] = [
        "$arrayElemAt": 2, "$first": 1, "$last": 1, "$reverseArray": 1, "$size": 1, "$isArray": 1, "$setIsSubset": 2,
        "$setDifference": 2,
    ]

    /// Compiles an array operator, or returns nil for other operators. Throws 102 for too few or too many operands.
    private static func array(_ name: String, _ arguments: [String]) throws(ParseError) -> String? {
        let count = name == "$setEquals" ? max(arguments.count, 2) : arrayOperands[Name(name)] ?? arguments.count
        guard arguments.count == count else {
            throw ParseError(
                ParseError.invalidQuery,
                "Expression \(name) takes exactly \(count) arguments. \(arguments.count) were passed in.")
        }
        let (list, operands) = (list(arguments), arguments.joined(separator: ", "))
        switch name {
        case "$reverseArray": return "roost_reversed(\(operands))"
        case "$slice":
            guard count == 2 || count == 3 else { throw unknown(name) }
            return "roost_slice(\(operands)\(count == 2 ? ", NULL" : ""))"
        case "$size": return "to_jsonb(jsonb_array_length(roost_list(\(operands), '$size', false)))"
        case "$isArray": return "to_jsonb(COALESCE(jsonb_typeof(\(operands)) = 'array', FALSE))"
        case "$setEquals": return "roost_set_equals(\(list))"
        case "$setIsSubset": return "to_jsonb(roost_set_difference(\(operands), '$setIsSubset', false) = '[]')"
        case "$setDifference": return "roost_set_difference(\(operands), '$setDifference', true)"
        case "$setUnion": return "roost_set_union(\(list))"
        case "$setIntersection": return "roost_set_intersection(\(list))"
        case "$concatArrays": return "roost_concatenated(\(list))"
        default: return nil
        }
    }
}
