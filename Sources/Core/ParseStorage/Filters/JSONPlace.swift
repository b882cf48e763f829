import JSON
import ParseModel
import Postgres

/// The target of a condition on jsonb.
enum JSONPlace {
    /// A column that contains only arrays.
    case list(String)
    /// A single value: a jsonb column or an expression.
    case value(String)
    /// The values at a path, of which there may be several.
    case path(JSONPath)
}

struct JSONPath {
    /// The SQL expression to which the path applies.
    let container: String
    /// The member names or array indexes. Never empty.
    let steps: [String]
    /// Whether the container is always an array.
    let isList: Bool

    /// Whether a step may be an array index as well as a member name.
    var hasPlace: Bool { steps.contains(where: Self.isPlace) }

    /// Whether the path begins by entering every element of an array, as in `tracks.title`.
    var entersElements: Bool { isList && !steps.prefix(1).contains(where: Self.isPlace) }

    /// The path in SQL/JSON. Lax mode enters every element of an array, as MongoDB does.
    var query: String { "lax $" + steps.map { "." + JSONValue.string($0).text }.joined() }

    static func isPlace(_ step: String) -> Bool { step.utf8.allSatisfy { (48...57).contains($0) } }
}

extension FilterCompiler {
    /// Returns the condition that the value, or one of its elements if it is an array, meets `condition`, which refers
    /// to it as `v`. A ``JSONPlace/list(_:)`` itself isn't tested, only its elements.
    mutating func candidates(_ place: JSONPlace, _ condition: String) -> String {
        "EXISTS (SELECT 1 FROM \(elements(of: place)) WHERE \(condition))"
    }

    /// Returns the FROM clause for ``candidates(_:_:)``. Citus allows only one SQL function in it, so the values come
    /// from a single function there, although two are faster.
    mutating func elements(of place: JSONPlace) -> String {
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

    /// Returns a FROM clause for the values at a path, each named `leaf`.
    mutating func leaves(_ path: JSONPath) -> String {
        if path.hasPlace { return allLeaves(path) }
        return "jsonb_path_query(\(path.container), \(bind(path))) AS l(leaf)"
    }

    /// Like ``leaves(_:)``, but also returns a NULL for every branch that ends before the path does.
    private mutating func allLeaves(_ path: JSONPath) -> String {
        "roost_leaves(\(path.container), \(builder.bind(.textArray(path.steps)))) AS l"
    }

    /// Returns the condition that the value is null or missing. A ``JSONPlace/list(_:)`` is never a JSON null.
    mutating func isNull(_ place: JSONPlace) -> String {
        switch place {
        case .list(let column): "\(column) IS NULL"
        case .value(let value): "COALESCE(\(value), 'null') = 'null'"
        case .path(let path):
            "EXISTS (SELECT 1 FROM \(allLeaves(path)) WHERE COALESCE(leaf, 'null') = 'null')"
        }
    }

    /// Returns the condition that a value exists, including null.
    mutating func isPresent(_ place: JSONPlace) -> String {
        switch place {
        case .list(let value), .value(let value): "(\(value) IS NOT NULL)"
        case .path(let path) where path.hasPlace:
            "EXISTS (SELECT 1 FROM \(allLeaves(path)) WHERE leaf IS NOT NULL)"
        case .path(let path): "COALESCE(jsonb_path_exists(\(path.container), \(bind(path))), FALSE)"
        }
    }

    /// Returns the SQL of the value at a path as one jsonb value, for sorting, inner queries and distinct values.
    mutating func value(at path: JSONPath) -> String {
        if path.entersElements { return "jsonb_path_query_array(\(path.container), \(bind(path)))" }
        return "(\(path.container) #> \(builder.bind(.textArray(path.steps))))"
    }

    private mutating func bind(_ path: JSONPath) -> String { "\(builder.bind(.text(path.query)))::text::jsonpath" }

    /// Returns the SQL of the value if it is an array, otherwise NULL, which can be expanded without an error.
    static func array(_ expression: String) -> String {
        "CASE WHEN jsonb_typeof(\(expression)) = 'array' THEN \(expression) END"
    }
}
