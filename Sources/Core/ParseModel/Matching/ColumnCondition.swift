import JSON

/// A condition on a field that isn't an object, an array or bytes, prepared for matching many objects.
enum ColumnCondition {
    case never
    case isMissing(Bool)
    /// Equal to one of the values, or missing if `orMissing` is set.
    case isOneOf(Set<ColumnValue>, orMissing: Bool)
    /// Equal to one of the GeoPoints or polygons, compared with a tolerance, or missing if `orMissing` is set.
    case isOneOfPoints([ColumnValue], orMissing: Bool)
    case stands(Comparison, ColumnValue)
    case isFound(TextPattern)
    case startsWith([Name])
    case isNear(GeoPoint, radians: Double?)
    case isInBox(GeoPoint, GeoPoint)
    case isInPolygon(GeoPolygon)
    case contains(GeoPoint)

    /// - Parameter weight: Counts the steps of patterns.
    init(_ constraint: Constraint, _ type: FieldType, _ weight: inout MatcherWeight) throws(FilterMatcherError) {
        let holdsText = type == .string || type == .file || type.targetClass != nil
        switch constraint {
        case .equal(let value): self = Self.membership([value], type)
        case .isIn(let values): self = Self.membership(values, type)
        case .exists(let exists): self = .isMissing(!exists)
        case .compare(let comparison, let value):
            self = ColumnValue(value, type).map { .stands(comparison, $0) } ?? .never
        case .compareRelative(let comparison, let milliseconds):
            guard type == .date else { throw .invalid(RelativeTime.needsDate) }
            self = .stands(comparison, .date(milliseconds))
        case .regex(let pattern, let options):
            self = holdsText ? .isFound(try TextPattern(pattern, options: options, &weight)) : .never
        case .containsAllStarting(let prefixes):
            self = holdsText && !prefixes.isEmpty ? .startsWith(prefixes.names) : .never
        case .near(let center, let radians): self = type == .geoPoint ? .isNear(center, radians: radians) : .never
        case .insideCircle(let center, let radians):
            self = type == .geoPoint ? .isNear(center, radians: radians) : .never
        case .box(let first, let second): self = type == .geoPoint ? .isInBox(first, second) : .never
        case .insidePolygon(let points): self = type == .geoPoint ? .isInPolygon(GeoPolygon(points)) : .never
        case .polygonContains(let point): self = type == .polygon ? .contains(point) : .never
        case .text, .containedBy, .notEqual, .notIn, .containsAll, .inQuery, .notInQuery, .size, .someElement,
            .someObject:
            self = .never
        }
    }

    private static func membership(_ values: [JSONValue], _ type: FieldType) -> ColumnCondition {
        let orMissing = values.contains { $0.isNull }
        let known = values.compactMap { ColumnValue($0, type) }
        if type == .geoPoint || type == .polygon { return .isOneOfPoints(known, orMissing: orMissing) }
        return .isOneOf(Set(known), orMissing: orMissing)
    }

    /// Whether a value meets the condition. `value` is nil if the object has none.
    func holds(_ value: ColumnValue?, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        try budget.spend(1)
        switch (self, value) {
        case (.never, _): return false
        case (.isMissing(let isMissing), _): return (value == nil) == isMissing
        case (.isOneOf(_, let orMissing), nil), (.isOneOfPoints(_, let orMissing), nil): return orMissing
        case (.isOneOf(let values, _), let value?):
            if case .text(let text) = value { try budget.spend(text.utf8.count >> 5) }
            return values.contains(value)
        case (.isOneOfPoints(let values, _), let value?):
            try budget.spend(values.count)
            for place in values where try value.isSame(place, &budget) { return true }
            return false
        case (.stands(let comparison, let other), let value?):
            if case (.text(let left), .text(let right)) = (value, other) { try budget.spend(comparing: left, right) }
            return value.stands(comparison, other)
        case (.isFound(let pattern), .text(let text)): return try pattern.isFound(in: text.text, &budget)
        case (.startsWith(let prefixes), .text(let text)):
            for prefix in prefixes {
                try budget.spend(comparing: text, prefix)
                guard text.hasPrefix(prefix) else { return false }
            }
            return true
        case (.isNear(let center, let radians), .point(let point)):
            return radians.map { point.radians(to: center) <= $0 } ?? true
        case (.isInBox(let first, let second), .point(let point)): return point.isInBox(between: first, and: second)
        case (.isInPolygon(let polygon), .point(let point)): return try polygon.contains(point, &budget)
        case (.contains(let point), .polygon(let polygon)): return try polygon.contains(point, &budget)
        default: return false
        }
    }
}
