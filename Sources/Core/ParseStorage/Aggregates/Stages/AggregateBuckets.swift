import JSON
import ParseModel

/// Compiles `$bucket`, which groups documents by ranges of a value.
extension AggregateCompiler {
    /// Compiles a `$bucket` stage. Its documents have no particular order.
    mutating func bucket(_ operand: JSONValue, _ input: AggregateInput) throws(ParseError) -> String {
        let name = "$bucket"
        let members = try AggregateOperand.members(of: operand, name, ["groupBy", "boundaries", "default", "output"])
        guard let grouped = members["groupBy"], AggregateOperand.isComputed(grouped) else {
            throw ParseError(ParseError.invalidQuery, "$bucket: groupBy must be a $-prefixed path or an expression")
        }
        let borders = try Self.borders(members["boundaries"] ?? .null)
        var otherwise = "NULL::jsonb"
        if let given = members["default"] {
            try Self.check(default: given, borders)
            otherwise = try expressions.expression(given, input.document)
        }
        guard let output = (members["output"] ?? ["count": ["$sum": 1]]).objectValue, output["_id"] == nil,
            output["objectId"] == nil
        else { throw ParseError(ParseError.invalidQuery, "$bucket: output must be an object without _id and objectId") }
        let value = try expressions.expression(grouped, input.document)
        let key = "roost_bucket(\(value), \(expressions.builder.literal(.array(borders))), \(otherwise))"
        return try groups(by: (key, "grouped"), output, input)
    }

    private static func borders(_ value: JSONValue) throws(ParseError) -> [JSONValue] {
        guard let list = value.arrayValue, list.count > 1 else {
            throw ParseError(ParseError.invalidQuery, "$bucket: boundaries must be a list of at least 2 values")
        }
        try HardLimits.check(list.count, atMost: HardLimits.stageMembers, "boundaries")
        var borders: [JSONValue] = []
        for border in list {
            if let last = borders.last {
                guard let order = order(of: last, border) else {
                    throw ParseError(ParseError.invalidQuery, "$bucket: all boundaries must be constants of one type")
                }
                guard order < 0 else {
                    throw ParseError(ParseError.invalidQuery, "$bucket: boundaries must be in ascending order")
                }
            }
            borders.append(border)
        }
        return borders
    }

    private static func check(default value: JSONValue, _ borders: [JSONValue]) throws(ParseError) {
        guard !AggregateOperand.isComputed(value) else {
            throw ParseError(ParseError.invalidQuery, "$bucket: default must be a constant")
        }
        guard let lowest = borders.first, let highest = borders.last, let low = order(of: value, lowest),
            let high = order(of: value, highest)
        else { return }
        guard low < 0 || high >= 0 else {
            throw ParseError(
                ParseError.invalidQuery,
                "$bucket: default must be less than the lowest boundary, or at least the highest")
        }
    }

    /// Compares two numbers, literal strings or dates. Returns -1, 0 or 1, or nil for other values and mixed types.
    private static func order(of one: JSONValue, _ other: JSONValue) -> Int? {
        func compared<Value: Comparable>(_ one: Value, _ other: Value) -> Int { one < other ? -1 : one > other ? 1 : 0 }
        if let one = one.numberValue, let other = other.numberValue { return compared(one, other) }
        if let one = one.stringValue, let other = other.stringValue {
            guard !one.hasPrefix("$"), !other.hasPrefix("$") else { return nil }
            return one.utf8.elementsEqual(other.utf8) ? 0 : one.utf8.lexicographicallyPrecedes(other.utf8) ? -1 : 1
        }
        guard one["__type"] == "Date", other["__type"] == "Date",
            let one = one["iso"]?.stringValue.flatMap(ParseDate.init(iso:)),
            let other = other["iso"]?.stringValue.flatMap(ParseDate.init(iso:))
        else { return nil }
        return compared(one.milliseconds, other.milliseconds)
    }
}
