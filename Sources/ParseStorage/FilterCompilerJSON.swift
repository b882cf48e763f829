import JSON
import ParseModel
import Postgres

/// Conditions on what jsonb columns hold: arrays, objects, and places inside them.
extension FilterCompiler {
    /// - Parameter isArray: whether the expression is a column that only ever holds arrays.
    mutating func json(_ constraint: Constraint, _ expression: String, isArray: Bool) throws(ParseError) -> String {
        switch constraint {
        case .equal(.null):
            return isArray ? "\(expression) IS NULL" : "COALESCE(\(expression), 'null') = 'null'"
        case .equal(let value): return equal(value, expression, isArray: isArray)
        case .exists(let exists): return exists ? "\(expression) IS NOT NULL" : "\(expression) IS NULL"
        case .isIn(let values): return membership(values, expression, isArray: isArray)
        case .containedBy(let values):
            let list = bindAll(values)
            return "(jsonb_typeof(\(expression)) = 'array' AND NOT EXISTS (SELECT 1 FROM "
                + "jsonb_array_elements(\(Self.array(expression))) AS c(v) WHERE v <> ALL(\(list))))"
        case .compare(let comparison, let value):
            return compare(comparison, value, expression, isArray: isArray)
        case .compareRelative:
            throw ParseError(107, "$relativeTime can only be used with Date field")
        case .regex(let pattern, let options):
            let match = try regex("(v #>> '{}')", pattern, options)
            return candidates(expression, isArray: isArray, "jsonb_typeof(v) = 'string' AND \(match)")
        case .containsAllStarting(let prefixes):
            guard !prefixes.isEmpty else { return "FALSE" }
            let conditions = prefixes.map {
                candidates(
                    expression, isArray: isArray, "jsonb_typeof(v) = 'string' AND \(prefix("(v #>> '{}')", $0))")
            }
            return "(\(conditions.joined(separator: " AND ")))"
        case .text, .near, .box, .insidePolygon, .insideCircle, .polygonContains, .notEqual, .notIn, .containsAll,
            .inQuery, .notInQuery:
            return "FALSE"
        }
    }

    private mutating func equal(_ value: JSONValue, _ expression: String, isArray: Bool) -> String {
        guard let bytes = Self.bytes(value) else { return "FALSE" }
        guard isArray else {
            return candidates(expression, isArray: false, "v = \(builder.bind(json: bytes))")
        }
        switch value {
        case .string, .number, .bool:
            return "\(expression) @> \(builder.bind(json: Self.wrapped(bytes)))"
        case .object where Pointer(json: value) != nil:
            // A pointer stands for its object whatever else was stored with it.
            return "\(expression) @> \(builder.bind(json: Self.wrapped(bytes)))"
        case .array:
            // The whole array, or an element that is this array.
            let whole = builder.bind(json: bytes)
            return "(\(expression) = \(whole) OR "
                + "\(candidates(expression, isArray: true, "v = \(whole)")))"
        default:
            return candidates(expression, isArray: true, "v = \(builder.bind(json: bytes))")
        }
    }

    private mutating func membership(_ values: [JSONValue], _ expression: String, isArray: Bool) -> String {
        var conditions: [String] = []
        if values.contains(.null) {
            conditions.append(isArray ? "\(expression) IS NULL" : "COALESCE(\(expression), 'null') = 'null'")
        }
        let present = values.filter { !$0.isNull }
        if !present.isEmpty {
            conditions.append(candidates(expression, isArray: isArray, "v = ANY(\(bindAll(present)))"))
        }
        if conditions.isEmpty { return "FALSE" }
        return "(\(conditions.joined(separator: " OR ")))"
    }

    private mutating func compare(
        _ comparison: Comparison, _ value: JSONValue, _ expression: String, isArray: Bool
    ) -> String {
        let symbol = Self.symbol(comparison)
        switch value {
        case .number:
            guard let bytes = Self.bytes(value) else { return "FALSE" }
            return candidates(
                expression, isArray: isArray,
                "jsonb_typeof(v) = 'number' AND v \(symbol) \(builder.bind(json: bytes))")
        case .string(let text):
            guard !text.utf8.contains(0) else { return "FALSE" }
            return candidates(
                expression, isArray: isArray,
                "jsonb_typeof(v) = 'string' AND (v #>> '{}') \(symbol) \(builder.bind(.text(text)))")
        case .bool:
            guard let bytes = Self.bytes(value) else { return "FALSE" }
            return candidates(
                expression, isArray: isArray,
                "jsonb_typeof(v) = 'boolean' AND v \(symbol) \(builder.bind(json: bytes))")
        case .object where value["__type"]?.stringValue == "Date":
            guard let date = value["iso"]?.stringValue.flatMap(ParseDate.init(iso:)) else { return "FALSE" }
            return candidates(
                expression, isArray: isArray,
                "v ->> '__type' = 'Date' AND (v ->> 'iso') COLLATE \"C\" \(symbol) \(builder.bind(.text(date.iso)))")
        default:
            return "FALSE"
        }
    }

    /// "Some value here": the value itself, or one of its elements when it is an array.
    func candidates(_ expression: String, isArray: Bool, _ condition: String) -> String {
        let elements = "SELECT jsonb_array_elements(\(Self.array(expression))) AS v"
        let values = isArray ? elements : "SELECT \(expression) AS v UNION ALL \(elements)"
        return "EXISTS (SELECT 1 FROM (\(values)) AS c WHERE \(condition))"
    }

    /// The value if it is an array, else null, so that taking it apart never fails.
    private static func array(_ expression: String) -> String {
        "CASE WHEN jsonb_typeof(\(expression)) = 'array' THEN \(expression) END"
    }

    private mutating func bindAll(_ values: [JSONValue]) -> String {
        builder.bind(.jsonbArray(values.compactMap(Self.bytes)))
    }

    /// The JSON text of a value; nil for one with a NUL in it, which jsonb cannot hold.
    static func bytes(_ value: JSONValue) -> [UInt8]? {
        ValueEncoder.hasNUL(value) ? nil : value.serialized()
    }

    private static func wrapped(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")]
    }
}
