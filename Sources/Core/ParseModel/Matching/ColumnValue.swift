import JSON

/// The stored form of a value that isn't an object, an array or bytes: a pointer's id, a file's name, a date's time.
package enum ColumnValue: Hashable {
    case text(Name)
    case number(Double)
    case bool(Bool)
    case date(Int64)
    case point(GeoPoint)
    case polygon(GeoPolygon)

    /// Converts a value to its stored form. Returns nil if no value of the field can equal it.
    package init?(_ value: JSONValue, _ type: FieldType) {
        switch type {
        case .string:
            guard let text = value.stringValue else { return nil }
            self = .text(Name(text))
        case .number:
            guard let number = value.numberValue else { return nil }
            self = .number(number)
        case .boolean:
            guard let flag = value.boolValue else { return nil }
            self = .bool(flag)
        case .date:
            let iso = value["__type"]?.stringValue == "Date" ? value["iso"]?.stringValue : value.stringValue
            guard let date = iso.flatMap(ParseDate.init(iso:)) else { return nil }
            self = .date(date.milliseconds)
        case .pointer(let target):
            let pointer = Pointer(json: value)
            guard pointer.map({ Name($0.className) == target }) ?? true,
                let id = pointer?.objectId ?? value.stringValue
            else { return nil }
            self = .text(Name(id))
        case .file:
            let name = value["__type"]?.stringValue == "File" ? value["name"]?.stringValue : value.stringValue
            guard let name else { return nil }
            self = .text(Name(name))
        case .geoPoint:
            guard let point = GeoPoint(json: value) else { return nil }
            self = .point(point)
        case .polygon:
            guard let polygon = try? GeoPolygon(json: value) else { return nil }
            self = .polygon(polygon)
        case .object, .array, .bytes, .acl, .relation: return nil
        }
    }

    /// Whether two values are the same, with a tolerance for GeoPoints and polygons.
    func isSame(_ other: ColumnValue, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        switch (self, other) {
        case (.point(let left), .point(let right)): return left.isSame(right)
        case (.polygon(let left), .polygon(let right)): return try left.isSame(right, &budget)
        default: return self == other
        }
    }

    /// Whether a comparison is true. GeoPoints, polygons and values of different types have no order.
    func stands(_ comparison: Comparison, _ other: ColumnValue) -> Bool {
        switch (self, other) {
        case (.text(let left), .text(let right)): comparison.holds(left, right)
        case (.number(let left), .number(let right)): comparison.holds(left, right)
        case (.bool(let left), .bool(let right)): comparison.holds(left ? 1 : 0, right ? 1 : 0)
        case (.date(let left), .date(let right)): comparison.holds(left, right)
        default: false
        }
    }
}

extension Comparison {
    func holds<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch self {
        case .less: left < right
        case .lessOrEqual: left <= right
        case .greater: left > right
        case .greaterOrEqual: left >= right
        }
    }
}
