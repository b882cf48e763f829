import JSON

/// A key of a `where` or of an update: a field, and a path inside its value when the key has dots.
public struct FieldPath: Hashable, Sendable {
    /// The field.
    public var root: String
    /// The steps inside the field's value; empty for the field itself.
    public var steps: [String]

    /// Splits a dotted key.
    public init(_ key: String) {
        guard key.utf8.contains(UInt8(ascii: ".")) else {
            root = key
            steps = []
            return
        }
        // By bytes: to a string, a dot with a combining mark after it is another character.
        // More steps than any limit allows stay one, which is refused all the same: each would take a hundred bytes.
        let parts = key.utf8.split(separator: UInt8(ascii: "."), maxSplits: 256, omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        root = parts.first ?? ""
        steps = Array(parts.dropFirst())
    }

    /// Splits a dotted key.
    public init(_ key: Name) { self.init(key.text) }

    /// Names are compared by their bytes.
    public static func == (left: FieldPath, right: FieldPath) -> Bool {
        left.root.hasSameBytes(as: right.root) && left.steps.names == right.steps.names
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(Name(root))
        hasher.combine(steps.names)
    }

    /// The key as it was written.
    public var text: String { ([root] + steps).joined(separator: ".") }
}

/// A condition on objects of one class: the parsed form of a `where`.
public indirect enum Filter: Sendable, Hashable {
    /// Every part holds; without parts, always.
    case all([Filter])
    /// At least one part holds; without parts, never.
    case any([Filter])
    /// No part holds.
    case none([Filter])
    /// A condition on one field.
    case field(FieldPath, Constraint)
    /// The object is in the relation `key` of `owner`.
    case related(owner: Pointer, key: String)

    /// A condition that every object fulfils.
    public static let everything = Filter.all([])

    /// Both conditions at once.
    public func and(_ other: Filter) -> Filter {
        switch (self, other) {
        case (.all([]), _): other
        case (_, .all([])): self
        case (.all(let left), _): .all(left + [other])
        default: .all([self, other])
        }
    }
}

/// A comparison that needs an order.
public enum Comparison: String, Sendable, Hashable {
    case less = "$lt"
    case lessOrEqual = "$lte"
    case greater = "$gt"
    case greaterOrEqual = "$gte"
}

/// A place on the sphere, in degrees.
public struct GeoPoint: Hashable, Sendable {
    /// Degrees north, −90 to 90.
    public var latitude: Double
    /// Degrees east, −180 to 180.
    public var longitude: Double

    /// Makes a point from degrees; nothing is checked.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Reads `{"__type":"GeoPoint","latitude":…,"longitude":…}`.
    public init?(json: JSONValue) {
        guard json["__type"]?.stringValue == "GeoPoint", let latitude = json["latitude"]?.numberValue,
            let longitude = json["longitude"]?.numberValue
        else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }

    /// Whether both numbers are ones that a place can have.
    public var isOnEarth: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }

    /// The form that travels.
    public var json: JSONValue {
        .object(["__type": "GeoPoint", "latitude": .number(latitude), "longitude": .number(longitude)])
    }
}

/// What a `where` asks of one field.
public indirect enum Constraint: Sendable, Hashable {
    /// Equal to a value; `null` means absent. An array field also matches by one of its elements.
    case equal(JSONValue)
    /// Not equal, or absent.
    case notEqual(JSONValue)
    /// Ordered against a value of the same type.
    case compare(Comparison, JSONValue)
    /// Ordered against a time relative to now, written as text (`3 days ago`).
    case compareRelative(Comparison, milliseconds: Int64)
    /// Equal to one of the values; a `null` among them matches an absent field.
    case isIn([JSONValue])
    /// Equal to none of the values.
    case notIn([JSONValue])
    /// An array that has every one of the values.
    case containsAll([JSONValue])
    /// An array that has, for every prefix, a string that starts with it.
    case containsAllStarting([String])
    /// An array with no element besides these values.
    case containedBy([JSONValue])
    /// Present or absent.
    case exists(Bool)
    /// A string that a regular expression finds.
    case regex(pattern: String, options: String)
    /// A text that full-text search finds.
    case text(TextSearch)
    /// A point at most so far away (in radians; nil for any distance), nearest first.
    case near(GeoPoint, radians: Double?)
    /// A point inside a box given by its south-west and north-east corners.
    case box(southWest: GeoPoint, northEast: GeoPoint)
    /// A point inside a polygon.
    case insidePolygon([GeoPoint])
    /// A point at most so far from a centre, in no order.
    case insideCircle(GeoPoint, radians: Double)
    /// A polygon that contains a point.
    case polygonContains(GeoPoint)
    /// A pointer to (or a value among) what another query finds.
    case inQuery(Subquery)
    /// Not a pointer to (nor a value among) what another query finds.
    case notInQuery(Subquery)
    /// An array of so many elements.
    case size(Int)
    /// An array with an element that fulfils all of the constraints.
    case someElement([Constraint])
    /// An array with an object that fulfils the condition.
    case someObject(Filter)
}

/// A text search.
public struct TextSearch: Sendable, Hashable {
    /// The words to find.
    public var term: String
    /// The language whose stemming applies; nil for PostgreSQL's `english`.
    public var language: String?
    /// Whether the case of letters counts.
    public var isCaseSensitive: Bool
    /// Whether accents count.
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
    /// The queried class.
    public var className: String
    /// The condition.
    public var filter: Filter
    /// The field whose values are compared (`$select`); nil to compare the objects' ids (`$inQuery`).
    public var key: FieldPath?
    /// The relation or pointer field that leads from `className` to the class really meant.
    public var redirectKey: String?
    /// Order of the objects, which matters together with a limit.
    public var order: [SortKey]
    /// At most so many objects; nil for all.
    public var limit: Int?
    /// How many objects to leave out first.
    public var skip: Int
    /// To whom the objects are visible: the caller's principals, or nil for all objects.
    public var readers: [Name]?
    /// Set when no object is visible at all.
    public var isClosed = false
}

/// One key of an order.
public struct SortKey: Sendable, Hashable {
    /// The field or path to order by.
    public var path: FieldPath
    /// Whether the largest comes first.
    public var isDescending: Bool

    public init(_ path: FieldPath, isDescending: Bool) {
        self.path = path
        self.isDescending = isDescending
    }
}

extension Filter {
    /// The same condition with every query inside it (deeply) replaced by what `transform` makes of it.
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

    /// The same condition with every part that is not a group replaced by what `transform` makes of it.
    public func mapLeaves(_ transform: (Filter) -> Filter) -> Filter {
        switch self {
        case .all(let parts): .all(parts.map { $0.mapLeaves(transform) })
        case .any(let parts): .any(parts.map { $0.mapLeaves(transform) })
        case .none(let parts): .none(parts.map { $0.mapLeaves(transform) })
        case .field, .related: transform(self)
        }
    }

    /// Calls `visit` with every condition of the tree that is not a group.
    public func visitLeaves(_ visit: (Filter) throws -> Void) rethrows {
        switch self {
        case .all(let parts), .any(let parts), .none(let parts):
            for part in parts { try part.visitLeaves(visit) }
        case .field, .related: try visit(self)
        }
    }

    /// Whether a query stands anywhere inside.
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
