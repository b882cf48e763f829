import JSON

/// Says whether objects fulfil a condition, without a database: what queries that are told of changes need.
///
/// It means what the compiled SQL means: a missing field is null, an array matches by its elements, and a value of another
/// type is no match. The work for one object is linear in the sizes of the object and the condition, but for patterns,
/// whose work has a limit.
public struct FilterMatcher: Sendable {
    private let filter: Filter
    private let schema: ClassSchema
    private var patterns: [PatternKey: LinearPattern] = [:]

    private struct PatternKey: Hashable {
        var pattern: Name
        var options: Name
    }

    /// Prepares a condition on objects of a class.
    ///
    /// - Throws: `FilterMatchingError` for what only the database can answer, and for patterns that cannot be matched in
    ///   linear time.
    public init(_ filter: Filter, of schema: ClassSchema) throws(FilterMatchingError) {
        self.filter = filter
        self.schema = schema
        try prepare(filter)
    }

    private mutating func prepare(_ filter: Filter) throws(FilterMatchingError) {
        switch filter {
        case .all(let parts), .any(let parts), .none(let parts):
            for part in parts { try prepare(part) }
        case .related: throw .needsDatabase("$relatedTo")
        case .field(let path, let constraint):
            if case .relation = schema.type(of: path.root) { throw .needsDatabase("a relation") }
            switch constraint {
            case .inQuery(let query): throw .needsDatabase(query.key == nil ? "$inQuery" : "$select")
            case .notInQuery(let query): throw .needsDatabase(query.key == nil ? "$notInQuery" : "$dontSelect")
            case .text: throw .needsDatabase("$text")
            case .regex(let pattern, let options):
                let key = PatternKey(pattern: Name(pattern), options: Name(options))
                if patterns[key] == nil { patterns[key] = try LinearPattern(pattern, options: options) }
            default: break
            }
        }
    }

    /// Whether an object fulfils the condition.
    ///
    /// - Parameter object: The object as the interface gives it: dates, pointers and files in their typed forms.
    /// - Throws: `FilterMatchingError.tooMuchWork` when a pattern and a text are so long that matching them would hold
    ///   others up.
    public func matches(_ object: JSONObject) throws(FilterMatchingError) -> Bool {
        try matches(filter, object)
    }

    private func matches(_ filter: Filter, _ object: JSONObject) throws(FilterMatchingError) -> Bool {
        switch filter {
        case .all(let parts):
            for part in parts where try !matches(part, object) { return false }
            return true
        case .any(let parts):
            for part in parts where try matches(part, object) { return true }
            return false
        case .none(let parts):
            for part in parts where try matches(part, object) { return false }
            return true
        case .field(let path, let constraint):
            return try holds(constraint, MatchedValues(path, of: object, schema))
        case .related: return false
        }
    }

    private func holds(_ constraint: Constraint, _ values: MatchedValues) throws(FilterMatchingError) -> Bool {
        switch constraint {
        case .equal(let value): return values.has(value)
        case .notEqual(let value): return !values.has(value)
        case .isIn(let list): return list.contains(where: values.has)
        case .notIn(let list): return !list.contains(where: values.has)
        case .containsAll(let list): return !list.isEmpty && list.allSatisfy(values.has)
        case .containsAllStarting(let prefixes):
            let texts = values.texts
            return !prefixes.isEmpty
                && prefixes.allSatisfy { prefix in texts.contains { $0.utf8.starts(with: prefix.utf8) } }
        case .containedBy(let list): return values.areContained(in: list)
        case .exists(let exists): return values.isPresent == exists
        case .compare(let comparison, let value): return values.stand(comparison, value)
        case .compareRelative(let comparison, let milliseconds):
            return values.stand(comparison, milliseconds: milliseconds)
        case .regex(let pattern, let options):
            let key = PatternKey(pattern: Name(pattern), options: Name(options))
            guard let pattern = patterns[key] else { return false }
            for text in values.texts where try pattern.finds(in: text) { return true }
            return false
        case .near(let center, let radians):
            return values.points.contains { point in radians.map { center.distance(to: point) <= $0 } ?? true }
        case .insideCircle(let center, let radians):
            return values.points.contains { center.distance(to: $0) <= radians }
        case .box(let first, let second): return values.points.contains { $0.isInside(first, second) }
        case .insidePolygon(let corners): return values.points.contains { $0.isInside(corners) }
        case .polygonContains(let point): return values.polygons.contains { point.isInside($0) }
        case .text, .inQuery, .notInQuery: return false
        }
    }
}

/// Why a condition cannot be told without a database.
public enum FilterMatchingError: Error, Equatable {
    /// It asks for what other objects hold, or for what PostgreSQL alone knows; names the operator.
    case needsDatabase(String)
    /// A pattern refers back or looks around, which no engine of linear time does, or is none.
    case unsupportedPattern
    /// A pattern and a text are too long to be matched beside other work.
    case tooMuchWork
}
