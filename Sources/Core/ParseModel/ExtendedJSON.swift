public import JSON

/// MongoDB's extended JSON, which pipelines and their results use for values that JSON lacks.
public enum ExtendedJSON {
    private static let types: Set<Name> = [
        "$date", "$oid", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal",
    ]
    /// The range in which a double represents every integer exactly.
    private static let exact: ClosedRange<Int64> = -9_007_199_254_740_992...9_007_199_254_740_992

    /// Converts typed values such as `{"$date": …}` and `{"$numberLong": "1"}` at any depth to dates, strings and
    /// numbers.
    ///
    /// - Throws: 102 for invalid values, and for integers beyond 2^53.
    public static func plain(_ value: JSONValue) throws(ParseError) -> JSONValue {
        switch value {
        case .array(let list):
            return .array(try list.map { element throws(ParseError) in try plain(element) })
        case .object(var object):
            if let type = object.keys.first(where: { types.contains($0) }) {
                guard object.count == 1, let operand = object[type], let value = typed(type, operand) else {
                    throw ParseError(ParseError.invalidQuery, "Invalid \(type): \(JSONValue.object(object).text)")
                }
                return value
            }
            for (key, member) in object { object[key] = try plain(member) }
            return .object(object)
        case .null, .bool, .number, .string: return value
        }
    }

    private static func typed(_ type: Name, _ operand: JSONValue) -> JSONValue? {
        if type == "$date" { return ParseDate(extended: ["$date": operand])?.json }
        guard let text = operand.stringValue else { return nil }
        switch type {
        case "$oid": return operand
        case "$numberInt", "$numberLong":
            return Int64(text).flatMap { exact.contains($0) ? .number(Double($0)) : nil }
        default: return Double(text).flatMap { $0.isFinite ? .number($0) : nil }
        }
    }

    /// Returns a date as extended JSON, or nil for other values.
    public static func date(_ value: JSONValue) -> JSONValue? {
        guard value["__type"] == "Date", let iso = value["iso"] else { return nil }
        return ["$date": iso]
    }
}
