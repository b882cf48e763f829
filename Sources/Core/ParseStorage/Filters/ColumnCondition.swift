import JSON
import ParseModel
import Postgres

/// Compiles conditions on columns with a plain type, such as text or number.
struct ColumnCondition {
    /// The column, quoted.
    let column: String
    let type: FieldType
    let path: FieldPath
    /// Whether `$in` on a string field rejects values other than strings and null, like parse-server since 9.6.
    let refusesMixedMembership: Bool

    /// Compiles a constraint.
    ///
    /// - Parameters:
    ///   - distance: Set to the SQL distance to sort by, if the constraint is `near`.
    ///   - rank: Set to the SQL rank of the text search, if the constraint is `text`.
    /// - Throws: `ParseError` for invalid operands.
    func sql(
        _ constraint: Constraint, _ builder: inout SQLBuilder, distance: inout String?, rank: inout String?
    ) throws(ParseError) -> String {
        switch constraint {
        case .equal(.null): return "\(column) IS NULL"
        case .equal(let value):
            guard let parameter = Self.parameter(value, type) else { return "FALSE" }
            return equality(parameter, &builder)
        case .exists(let exists): return exists ? "\(column) IS NOT NULL" : "\(column) IS NULL"
        case .isIn(let values): return try membership(values, &builder)
        case .compare(let comparison, let value):
            guard type != .geoPoint, type != .polygon, let parameter = Self.parameter(value, type) else {
                return "FALSE"
            }
            return "\(column) \(comparison.symbol) \(builder.bind(parameter))"
        case .compareRelative(let comparison, let milliseconds):
            guard type == .date else { throw RelativeTime.needsDate }
            return
                "\(column) \(comparison.symbol) \(builder.bind(.timestamp(milliseconds: milliseconds)))"
        case .regex(let pattern, let options):
            guard TableLayout.columnType(type) == "text" else { return "FALSE" }
            return try TextCondition(text: column).regex(pattern, options, &builder)
        case .text(let search):
            guard type == .string else { return "FALSE" }
            return TextCondition(text: column).search(search, &builder, rank: &rank)
        case .containsAllStarting(let prefixes):
            guard TableLayout.columnType(type) == "text", !prefixes.isEmpty else { return "FALSE" }
            let text = TextCondition(text: column)
            return "(" + prefixes.map { text.prefix($0, &builder) }.joined(separator: " AND ") + ")"
        case .near, .box, .insidePolygon, .insideCircle, .polygonContains:
            return GeoCondition(column: column).sql(constraint, type, &builder, distance: &distance)
        case .containedBy, .notEqual, .notIn, .containsAll, .inQuery, .notInQuery, .size, .someElement, .someObject:
            return "FALSE"
        }
    }

    /// Returns the value as a parameter of the column's type, or nil if no value of the column can equal it.
    static func parameter(_ value: JSONValue, _ type: FieldType) -> PostgresParameter? {
        switch ColumnValue(value, type) {
        // PostgreSQL can't store NUL characters.
        case .text(let text): text.utf8.contains(0) ? nil : .text(text.text)
        case .number(let number): .double(number)
        case .bool(let flag): .bool(flag)
        case .date(let milliseconds): .timestamp(milliseconds: milliseconds)
        case .point(let point): .point(x: point.longitude, y: point.latitude)
        case .polygon(let polygon): (try? ValueEncoder.corners(of: polygon)).map { .polygon($0) }
        case nil: nil
        }
    }

    private func equality(_ parameter: PostgresParameter, _ builder: inout SQLBuilder) -> String {
        switch type {
        case .geoPoint, .polygon: "\(column) ~= \(builder.bind(parameter))"
        default: "\(column) = \(builder.bind(parameter))"
        }
    }

    private func membership(_ values: [JSONValue], _ builder: inout SQLBuilder) throws(ParseError) -> String {
        if type == .string, refusesMixedMembership,
            values.contains(where: { $0.stringValue == nil && !$0.isNull })
        {
            throw ParseError(
                ParseError.invalidQuery, "$in element type mismatch: expected string for field \"\(path.text)\"")
        }
        var conditions: [String] = []
        if values.contains(.null) { conditions.append("\(column) IS NULL") }
        let parameters = values.compactMap { $0.isNull ? nil : Self.parameter($0, type) }
        if !parameters.isEmpty {
            switch type {
            case .number:
                let numbers = parameters.compactMap { if case .double(let number) = $0 { number } else { nil } }
                conditions.append("\(column) = ANY(\(builder.bind(.doubleArray(numbers))))")
            case .boolean:
                let flags = parameters.compactMap { if case .bool(let flag) = $0 { flag } else { nil } }
                conditions.append("\(column) = ANY(\(builder.bind(.boolArray(flags))))")
            case .date:
                let dates = parameters.compactMap { if case .timestamp(let date) = $0 { date } else { nil } }
                conditions.append("\(column) = ANY(\(builder.bind(.timestampArray(milliseconds: dates))))")
            case .geoPoint, .polygon:
                for parameter in parameters { conditions.append(equality(parameter, &builder)) }
            default:
                let texts = parameters.compactMap { if case .text(let text) = $0 { text } else { nil } }
                conditions.append("\(column) = ANY(\(builder.bind(.textArray(texts))))")
            }
        }
        if conditions.isEmpty { return "FALSE" }
        return conditions.count == 1 ? conditions[0] : "(\(conditions.joined(separator: " OR ")))"
    }
}

extension Comparison {
    /// The SQL operator.
    var symbol: String {
        switch self {
        case .less: "<"
        case .lessOrEqual: "<="
        case .greater: ">"
        case .greaterOrEqual: ">="
        }
    }
}
