import JSON

/// A key of a query or a write: a field, and a path inside its value if the key has dots.
public struct FieldPath: Hashable, Sendable {
    public var root: String
    /// The path inside the field's value, or empty for the field itself.
    public var steps: [String]

    public init(_ key: String) {
        guard key.utf8.contains(UInt8(ascii: ".")) else {
            root = key
            steps = []
            return
        }
        // Split by bytes, since Swift counts a dot followed by a combining mark as another character. Dots after the
        // 256th aren't split: such a path exceeds every limit, and each step would take 100 bytes of memory.
        let parts = key.utf8.split(separator: UInt8(ascii: "."), maxSplits: 256, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        root = parts.first ?? ""
        steps = Array(parts.dropFirst())
    }

    public init(_ key: Name) { self.init(key.text) }

    /// Compares names by bytes.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.root.hasSameBytes(as: right.root) && left.steps.names == right.steps.names
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(Name(root))
        hasher.combine(steps.names)
    }

    /// The original dotted key.
    public var text: String { ([root] + steps).joined(separator: ".") }
}

/// A condition on the objects of one class: the parsed form of a `where`.
public indirect enum Filter: Sendable, Hashable {
    /// All parts are true. Always true if empty.
    case all([Filter])
    /// At least one part is true. Never true if empty.
    case any([Filter])
    /// No part is true.
    case none([Filter])
    /// A condition on one field.
    case field(FieldPath, Constraint)
    /// The object is in the relation `key` of `owner`.
    case related(owner: Pointer, key: String)

    /// The condition that every object meets.
    public static let everything = Filter.all([])

    /// Combines two conditions with AND.
    public func and(_ other: Filter) -> Filter {
        switch (self, other) {
        case (.all([]), _): other
        case (_, .all([])): self
        case (.all(let left), _): .all(left + [other])
        default: .all([self, other])
        }
    }
}

/// An ordering comparison.
public enum Comparison: String, Sendable, Hashable {
    case less = "$lt"
    case lessOrEqual = "$lte"
    case greater = "$gt"
    case greaterOrEqual = "$gte"
}

/// A geographic point in degrees.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north, −90 to 90.
    public var latitude: Double
    /// Degrees east, −180 to 180.
    public var longitude: Double

    /// Creates a point without checking the range of its coordinates.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Parses `{"__type":"GeoPoint","latitude":…,"longitude":…}`. Returns nil for anything else.
    public init?(json: JSONValue) {
        guard json["__type"]?.stringValue == "GeoPoint", let latitude = json["latitude"]?.numberValue,
            let longitude = json["longitude"]?.numberValue
        else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }

    /// Whether both coordinates are in range.
    public var isOnEarth: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }

    /// The point in the format of requests and responses.
    public var json: JSONValue {
        .object(["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)])
    }
}

/// The condition of a `where` on one field.
public indirect enum Constraint: Sendable, Hashable {
    /// Equal to a value. `null` matches missing fields, and an array field also matches by one of its elements.
    case equal(JSONValue)
    /// Not equal to a value. Unless the value is `null`, a missing field matches too.
    case notEqual(JSONValue)
    /// A comparison (`$lt`, `$lte`, `$gt` or `$gte`) with a value of the same type.
    case compare(Comparison, JSONValue)
    /// A comparison of dates with milliseconds since 1970, which the query gave relative to now (`3 days ago`).
    case compareRelative(Comparison, milliseconds: Int64)
    /// Equal to one of the values. A `null` among them matches a missing field.
    case isIn([JSONValue])
    /// Equal to none of the values. Unless `null` is one of them, a missing field matches too.
    case notIn([JSONValue])
    /// An array that contains all of the values, or a value that equals all of them. Never true if there are none.
    case containsAll([JSONValue])
    /// An array in which every prefix starts at least one string, or a string that starts with all of the prefixes.
    case containsAllStarting([String])
    /// An array whose elements are all among these values.
    case containedBy([JSONValue])
    /// Present or missing.
    case exists(Bool)
    /// A string that matches a regular expression.
    case regex(pattern: String, options: String)
    /// A text that matches a full-text search.
    case text(TextSearch)
    /// A point within a distance in radians (nil for any distance), sorted by distance.
    case near(GeoPoint, radians: Double?)
    /// A point inside a box given by two opposite corners.
    case box(southWest: GeoPoint, northEast: GeoPoint)
    /// A point inside a polygon.
    case insidePolygon([GeoPoint])
    /// A point within a distance of a center, unsorted.
    case insideCircle(GeoPoint, radians: Double)
    /// A polygon that contains a point.
    case polygonContains(GeoPoint)
    /// A pointer to an object found by another query, or a value found by it.
    case inQuery(Subquery)
    /// Neither a pointer to an object found by another query nor a value found by it.
    case notInQuery(Subquery)
    /// An array with this number of elements.
    case size(Int)
    /// An array with an element that meets all of the constraints.
    case someElement([Constraint])
    /// An array with an object that meets the condition.
    case someObject(Filter)

    package var isMetByMissingField: Bool {
        switch self {
        case .equal(.null), .exists(false): true
        case .isIn(let values): values.contains(.null)
        default: false
        }
    }
}

/// A full-text search.
public struct TextSearch: Sendable, Hashable {
    /// The words to search for.
    public var term: String
    /// The language whose stemming applies. PostgreSQL's `english` if it is nil or unknown.
    public var language: String?
    public var isCaseSensitive: Bool
    /// Whether accents matter.
    public var isDiacriticSensitive: Bool

    public init(term: String, language: String?, isCaseSensitive: Bool, isDiacriticSensitive: Bool) {
        self.term = term
        self.language = language
        self.isCaseSensitive = isCaseSensitive
        self.isDiacriticSensitive = isDiacriticSensitive
    }
}

/// A query inside a query: `$inQuery`, `$select` and their negations.
public struct Subquery: Sendable, Hashable {
    public var className: String
    public var filter: Filter
    /// The field whose values are compared (`$select`), or nil to compare object ids (`$inQuery`).
    public var key: FieldPath?
    /// The relation or pointer field of `className` that leads to the class to query (`redirectClassNameForKey`).
    public var redirectKey: String?
    /// The order of the objects, which matters together with a limit.
    public var order: [SortKey]
    /// The maximum number of objects, or nil for all.
    public var limit: Int?
    /// The number of objects to skip.
    public var skip: Int
    /// The caller's principals, which are compared with the readers in each object's ACL, or nil to ignore ACLs.
    public var readers: [Name]?
    /// Whether the subquery finds nothing, because the class didn't exist when the caller's permissions were checked.
    public var isClosed = false
}

/// A key of a sort order.
public struct SortKey: Sendable, Hashable {
    public var path: FieldPath
    public var isDescending: Bool

    public init(_ path: FieldPath, isDescending: Bool) {
        self.path = path
        self.isDescending = isDescending
    }
}

extension Filter {
    /// Returns the condition with every subquery, at any depth, replaced by the result of `transform`.
    public func mapSubqueries(_ transform: (Subquery) async throws -> Subquery) async rethrows -> Filter {
        switch self {
        case .all(let parts): return .all(try await Self.map(parts, transform))
        case .any(let parts): return .any(try await Self.map(parts, transform))
        case .none(let parts): return .none(try await Self.map(parts, transform))
        case .field(let path, .inQuery(let query)):
            return .field(path, .inQuery(try await Self.map(query, transform)))
        case .field(let path, .notInQuery(let query)):
            return .field(path, .notInQuery(try await Self.map(query, transform)))
        case .field, .related: return self
        }
    }

    /// Returns the condition with every part that isn't a group replaced by the result of `transform`.
    public func mapLeaves(_ transform: (Filter) -> Filter) -> Filter {
        switch self {
        case .all(let parts): .all(parts.map { $0.mapLeaves(transform) })
        case .any(let parts): .any(parts.map { $0.mapLeaves(transform) })
        case .none(let parts): .none(parts.map { $0.mapLeaves(transform) })
        case .field, .related: transform(self)
        }
    }

    /// Calls `visit` with every part of the condition that isn't a group.
    public func visitLeaves(_ visit: (Filter) throws -> Void) rethrows {
        switch self {
        case .all(let parts), .any(let parts), .none(let parts):
            for part in parts { try part.visitLeaves(visit) }
        case .field, .related: try visit(self)
        }
    }

    /// Whether the condition contains a subquery at any depth.
    public var hasSubqueries: Bool {
        switch self {
        case .all(let parts), .any(let parts), .none(let parts): parts.contains { $0.hasSubqueries }
        case .field(_, .inQuery), .field(_, .notInQuery): true
        case .field, .related: false
        }
    }

    private static func map(_ parts: [Filter], _ transform: (Subquery) async throws -> Subquery) async rethrows
        -> [Filter]
    {
        var mapped: [Filter] = []
        for part in parts { mapped.append(try await part.mapSubqueries(transform)) }
        return mapped
    }

    private static func map(_ query: Subquery, _ transform: (Subquery) async throws -> Subquery) async rethrows
        -> Subquery
    {
        var mapped = try await transform(query)
        mapped.filter = try await mapped.filter.mapSubqueries(transform)
        return mapped
    }
}
