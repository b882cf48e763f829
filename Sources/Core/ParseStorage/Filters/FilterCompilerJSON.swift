import JSON
import ParseModel
import Postgres

/// Conditions on jsonb columns: arrays, objects, and paths into them.
extension FilterCompiler {
    private static var text: TextCondition { TextCondition(text: "(v #>> '{}')") }

    mutating func json(_ constraint: Constraint, _ place: JSONPlace) throws(ParseError) -> String {
        switch constraint {
        case .equal(.null): return isNull(place)
        case .equal(let value): return equal(value, place)
        case .exists(let exists): return exists ? isPresent(place) : "NOT \(isPresent(place))"
        case .isIn(let values): return membership(values, place)
        case .containedBy(let values): return containment(values, place)
        case .compare(let comparison, let value): return compare(comparison, value, place)
        case .compareRelative: throw RelativeTime.needsDate
        case .regex(let pattern, let options):
            let match = try Self.text.regex(pattern, options, &builder)
            return candidates(place, "jsonb_typeof(v) = 'string' AND \(match)")
        case .containsAllStarting(let prefixes):
            guard !prefixes.isEmpty else { return "FALSE" }
            let conditions = prefixes.map {
                candidates(place, "jsonb_typeof(v) = 'string' AND \(Self.text.prefix($0, &builder))")
            }
            return "(\(conditions.joined(separator: " AND ")))"
        case .size(let size): return hasSize(size, place)
        case .text, .near, .box, .insidePolygon, .insideCircle, .polygonContains, .notEqual, .notIn, .containsAll,
            .inQuery, .notInQuery, .someElement, .someObject:
            return "FALSE"
        }
    }

    private mutating func hasSize(_ size: Int, _ place: JSONPlace) -> String {
        let number = builder.bind(.int(Int64(size)))
        switch place {
        case .list(let value), .value(let value): return "jsonb_array_length(\(Self.array(value))) = \(number)"
        case .path(let path):
            return "EXISTS (SELECT 1 FROM \(leaves(path)) WHERE jsonb_array_length(\(Self.array("leaf"))) = \(number))"
        }
    }

    private mutating func equal(_ value: JSONValue, _ place: JSONPlace) -> String {
        guard let bytes = Self.bytes(value) else { return "FALSE" }
        guard case .list(let column) = place else {
            return candidates(place, "v = \(builder.bind(.jsonb(bytes)))")
        }
        switch value {
        case .string, .number, .bool:
            return "\(column) @> \(builder.bind(.jsonb(Self.wrapped(bytes))))"
        case .object(let members) where Pointer(json: value) != nil:
            // Stored pointers may have additional members. Nested arrays and objects of the query are left out, because
            // PostgreSQL would compare each element with every other one and couldn't be cancelled.
            let scalars = members.filter { $0.value.arrayValue == nil && $0.value.objectValue == nil }
            return "\(column) @> \(builder.bind(.jsonb(Self.wrapped(JSONValue.object(scalars).serialized()))))"
        case .array:
            // Either the whole array is equal, or one of its elements is this array.
            let whole = builder.bind(.jsonb(bytes))
            return "(\(column) = \(whole) OR \(candidates(place, "v = \(whole)")))"
        default:
            return candidates(place, "v = \(builder.bind(.jsonb(bytes)))")
        }
    }

    private mutating func membership(_ values: [JSONValue], _ place: JSONPlace) -> String {
        var conditions: [String] = []
        if values.contains(.null) { conditions.append(isNull(place)) }
        let present = values.filter { !$0.isNull }
        if !present.isEmpty { conditions.append(candidates(place, "v = ANY(\(bindAll(present)))")) }
        let arrays = present.filter { $0.arrayValue != nil }
        if case .list(let column) = place, !arrays.isEmpty {
            conditions.append("\(column) = ANY(\(bindAll(arrays)))")
        }
        if conditions.isEmpty { return "FALSE" }
        return "(\(conditions.joined(separator: " OR ")))"
    }

    /// Returns the condition that at least one value is an array, and that all arrays contain only `values`.
    private mutating func containment(_ values: [JSONValue], _ place: JSONPlace) -> String {
        let list = bindAll(values)
        func isContained(_ value: String) -> String {
            "NOT EXISTS (SELECT 1 FROM jsonb_array_elements(\(Self.array(value))) AS c(v) WHERE v <> ALL(\(list)))"
        }
        switch place {
        case .list(let value), .value(let value):
            return "(jsonb_typeof(\(value)) = 'array' AND \(isContained(value)))"
        case .path(let path):
            // An inline query is faster, but Citus doesn't support it here.
            let isWithin = schemas.isSpread ? "roost_is_within(leaf, \(list))" : isContained("leaf")
            return "(SELECT COALESCE(bool_and(\(isWithin)), FALSE) FROM \(leaves(path)) "
                + "WHERE jsonb_typeof(leaf) = 'array')"
        }
    }

    private mutating func compare(_ comparison: Comparison, _ value: JSONValue, _ place: JSONPlace) -> String {
        let symbol = comparison.symbol
        switch value {
        case .number, .bool:
            let kind = value.boolValue == nil ? "number" : "boolean"
            return candidates(
                place, "jsonb_typeof(v) = '\(kind)' AND v \(symbol) \(builder.bind(.jsonb(value.serialized())))")
        case .string(let text):
            guard !text.utf8.contains(0) else { return "FALSE" }
            return candidates(
                place, "jsonb_typeof(v) = 'string' AND (v #>> '{}') \(symbol) \(builder.bind(.text(text)))")
        case .object where value["__type"]?.stringValue == "Date":
            guard let date = value["iso"]?.stringValue.flatMap(ParseDate.init(iso:)) else { return "FALSE" }
            return candidates(
                place,
                "v ->> '__type' = 'Date' AND (v ->> 'iso') COLLATE \"C\" \(symbol) \(builder.bind(.text(date.iso)))")
        default:
            return "FALSE"
        }
    }

    private mutating func bindAll(_ values: [JSONValue]) -> String {
        builder.bind(.jsonbArray(values.compactMap(Self.bytes)))
    }

    /// Returns the JSON text of a value, or nil if it contains a NUL character, which jsonb can't store.
    static func bytes(_ value: JSONValue) -> [UInt8]? {
        value.containsNUL ? nil : value.serialized()
    }

    private static func wrapped(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(ascii: "[")] + bytes + [UInt8(ascii: "]")]
    }
}
