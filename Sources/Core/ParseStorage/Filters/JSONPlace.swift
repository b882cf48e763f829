import JSON
import ParseModel
import Postgres

/// What a condition on jsonb asks about.
enum JSONPlace {
    /// A column that only ever holds arrays.
    case list(String)
    /// One value: a column that holds objects, or an expression.
    case value(String)
    /// What a path leads to, which can be several values.
    case path(JSONPath)
}

/// A path into jsonb.
struct JSONPath {
    /// The expression of what the path begins in.
    let container: String
    /// At least one.
    let steps: [String]
    /// Whether the container only ever holds arrays.
    let isList: Bool

    /// Whether a step can be a place in an array as well as the name of a member.
    var hasPlace: Bool { steps.contains(where: Self.isPlace) }

    /// Whether the path begins with a step into every element of an array: `tracks.title`.
    var entersElements: Bool { isList && !steps.prefix(1).contains(where: Self.isPlace) }

    /// The steps as a path of SQL. Like MongoDB it goes on in every object of an array on its way.
    var query: String { "lax $" + steps.map { "." + JSONValue.string($0).text }.joined() }

    /// Whether a step can be a place in an array.
    static func isPlace(_ step: String) -> Bool { step.utf8.allSatisfy { (48...57).contains($0) } }
}

extension FilterCompiler {
    /// "Some value here": a value that stands here, or one of its elements when it is an array. The condition calls it
    /// `v`.
    mutating func candidates(_ place: JSONPlace, _ condition: String) -> String {
        "EXISTS (SELECT 1 FROM \(elements(of: place)) WHERE \(condition))"
    }

    /// The values of ``candidates(_:_:)`` as a source for FROM. They come from SQL functions, which PostgreSQL inlines
    /// and Citus sends to its servers unchanged. Citus takes one function there only, where two would cost less.
    private mutating func elements(of place: JSONPlace) -> String {
        switch place {
        case .list(let column): "jsonb_array_elements(\(Self.array(column))) AS c(v)"
        case .value(let value): "roost_elements(\(value)) AS c(v)"
        case .path(let path) where path.hasPlace && schemas.isSpread:
            "roost_elements(\(path.container), \(builder.bind(.textArray(path.steps)))) AS c(v)"
        case .path(let path) where path.hasPlace:
            "\(leaves(path)), LATERAL (SELECT leaf AS v UNION ALL SELECT jsonb_array_elements(CASE WHEN "
                + "jsonb_typeof(leaf) = 'array' AND NOT is_whole THEN leaf END)) AS c"
        case .path(let path): "roost_elements(\(path.container), \(bind(path))) AS c(v)"
        }
    }

    /// ``candidates(_:_:)`` for a condition with a query inside, which Citus takes where it joins tables only.
    mutating func candidates(_ place: JSONPlace, inQueryOf outer: ClassSchema, _ condition: String) -> String {
        guard outer.distributedBy != nil, document == nil else { return candidates(place, condition) }
        return "\"objectId\" IN (SELECT _whole.\"objectId\" FROM \(SQLBuilder.quote(outer.name)) AS _whole, "
            + "LATERAL \(elements(of: place)) WHERE \(condition))"
    }

    /// The values that a path leads to, each as `leaf`: a source for FROM.
    mutating func leaves(_ path: JSONPath) -> String {
        if path.hasPlace { return allLeaves(path) }
        return "jsonb_path_query(\(path.container), \(bind(path))) AS l(leaf)"
    }

    /// Like ``leaves(_:)``, with a null for every branch that ends before the path.
    private mutating func allLeaves(_ path: JSONPath) -> String {
        "roost_leaves(\(path.container), \(builder.bind(.textArray(path.steps)))) AS l"
    }

    /// Null, or nothing at all. An array is there, whatever it holds.
    mutating func isNull(_ place: JSONPlace) -> String {
        switch place {
        case .list(let column): "\(column) IS NULL"
        case .value(let value): "COALESCE(\(value), 'null') = 'null'"
        case .path(let path):
            "EXISTS (SELECT 1 FROM \(allLeaves(path)) WHERE COALESCE(leaf, 'null') = 'null')"
        }
    }

    /// Anything, null included.
    mutating func isPresent(_ place: JSONPlace) -> String {
        switch place {
        case .list(let value), .value(let value): "(\(value) IS NOT NULL)"
        case .path(let path) where path.hasPlace:
            "EXISTS (SELECT 1 FROM \(allLeaves(path)) WHERE leaf IS NOT NULL)"
        case .path(let path): "COALESCE(jsonb_path_exists(\(path.container), \(bind(path))), FALSE)"
        }
    }

    /// The one value that objects are ordered by, or that an inner query gives.
    mutating func value(at path: JSONPath) -> String {
        if path.entersElements { return "jsonb_path_query_array(\(path.container), \(bind(path)))" }
        return "(\(path.container) #> \(builder.bind(.textArray(path.steps))))"
    }

    private mutating func bind(_ path: JSONPath) -> String { "\(builder.bind(.text(path.query)))::text::jsonpath" }

    /// The value if it is an array, else null, so that taking it apart never fails.
    static func array(_ expression: String) -> String {
        "CASE WHEN jsonb_typeof(\(expression)) = 'array' THEN \(expression) END"
    }
}
