import JSON

/// Says whether objects fulfil a filter, without the database: what live queries ask of every change.
///
/// It means what the same filter means as SQL. A missing field is null, an array matches by its elements, and a value of
/// another type is no match, never an error. Texts are ordered by their bytes, and the letters of patterns (`\w`,
/// case) are those of ASCII: so does a database with the collation `C`, which is the one that Roost makes.
///
/// A matcher is made once for a filter and asked about many objects. What it costs is linear in the object for each
/// condition, and at most ``steps`` for all of them; patterns never backtrack.
public struct FilterMatcher: Sendable {
    /// The most that one comparison may cost: values looked at, and characters of texts that patterns look at.
    public static let steps = 10_000_000

    private indirect enum Node: Sendable {
        case constant(Bool)
        case all([Node])
        case any([Node])
        case not(Node)
        case column(Name, FieldType, ColumnCondition)
        case nested([String], NestedCondition)
    }

    private let root: Node
    /// What it takes in memory, in bytes, roughly.
    public let weight: Int

    /// - Throws: ``FilterMatcherError`` for what cannot be said without the database, and for what the database would
    ///   refuse.
    public init(_ filter: Filter, schema: ClassSchema) throws(FilterMatcherError) {
        var weight = MatcherWeight()
        root = try Self.node(filter, schema, &weight)
        self.weight = weight.bytes
    }

    /// Whether an object, with its fields as clients get them, fulfils the filter.
    ///
    /// - Throws: ``FilterMatcherError/tooMuchWork``.
    public func matches(_ object: JSONObject) throws(FilterMatcherError) -> Bool {
        var budget = MatchBudget(steps: Self.steps)
        return try matches(object, &budget)
    }

    /// The same, of what is left of a budget.
    public func matches(_ object: JSONObject, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        try Self.holds(root, object, &budget)
    }

    private static func nodes(_ parts: [Filter], _ schema: ClassSchema, _ weight: inout MatcherWeight)
        throws(FilterMatcherError) -> [Node]
    {
        var nodes: [Node] = []
        for part in parts { nodes.append(try node(part, schema, &weight)) }
        return nodes
    }

    private static func node(_ filter: Filter, _ schema: ClassSchema, _ weight: inout MatcherWeight)
        throws(FilterMatcherError) -> Node
    {
        switch filter {
        case .all(let parts): return .all(try nodes(parts, schema, &weight))
        case .any(let parts): return .any(try nodes(parts, schema, &weight))
        case .none(let parts): return .not(.any(try nodes(parts, schema, &weight)))
        case .field(let path, let constraint):
            weight.add(constraint)
            return try node(constraint, at: path, schema, &weight)
        case .related: throw .needsDatabase("$relatedTo")
        }
    }

    private static func node(
        _ constraint: Constraint, at path: FieldPath, _ schema: ClassSchema, _ weight: inout MatcherWeight
    ) throws(FilterMatcherError) -> Node {
        switch constraint {
        case .notEqual(let value): return .not(try node(.equal(value), at: path, schema, &weight))
        case .notIn(let values): return .not(try node(.isIn(values), at: path, schema, &weight))
        case .containsAll(let values):
            guard !values.isEmpty else { return .constant(false) }
            var parts: [Node] = []
            for value in values { parts.append(try node(.equal(value), at: path, schema, &weight)) }
            return .all(parts)
        case .inQuery(let query): throw .needsDatabase(query.key == nil ? "$inQuery" : "$select")
        case .notInQuery(let query): throw .needsDatabase(query.key == nil ? "$notInQuery" : "$dontSelect")
        case .text: throw .needsDatabase("$text")
        case .size: throw .needsDatabase("$size")
        case .someElement, .someObject: throw .needsDatabase("$elemMatch")
        default: break
        }
        let field = SystemClass.field(queriedAs: path.root)
        guard let type = schema.type(of: field) else {
            // Objects do not show the columns that only the server reads.
            guard field.utf8.first != UInt8(ascii: "_") else { throw .needsDatabase(field) }
            // A pattern that is none is one when the field comes, too.
            if case .regex(let pattern, let options) = constraint {
                _ = try TextPattern(pattern, options: options, &weight)
            }
            return .constant(isFulfilledByNothing(constraint))
        }
        let isWhole = path.steps.isEmpty
        switch type {
        case .relation where isWhole: throw .needsDatabase(field)
        case .object, .bytes, .array:
            let condition = try NestedCondition(constraint, isList: type == .array && isWhole, &weight)
            return .nested([field] + path.steps, condition)
        case .acl, .relation: return .constant(isFulfilledByNothing(constraint))
        default:
            // A date or a pointer in a field of its own has no inside.
            guard isWhole else { return .constant(isFulfilledByNothing(constraint)) }
            return .column(Name(field), type, try ColumnCondition(constraint, type, &weight))
        }
    }

    /// A field that the class does not have is missing from every object.
    private static func isFulfilledByNothing(_ constraint: Constraint) -> Bool {
        switch constraint {
        case .equal(.null), .exists(false): true
        case .isIn(let values): values.contains { $0.isNull }
        default: false
        }
    }

    private static func holds(_ node: Node, _ object: JSONObject, _ budget: inout MatchBudget)
        throws(FilterMatcherError) -> Bool
    {
        switch node {
        case .constant(let holds): return holds
        case .all(let parts):
            for part in parts where try !holds(part, object, &budget) { return false }
            return true
        case .any(let parts):
            for part in parts where try holds(part, object, &budget) { return true }
            return false
        case .not(let part): return try !holds(part, object, &budget)
        case .column(let field, let type, let condition):
            let value = object[field]
            // A polygon is read corner by corner, whatever is asked of it.
            if type == .polygon { try budget.spend(value?["coordinates"]?.arrayValue?.count ?? 0) }
            return try condition.holds(value.flatMap { ColumnValue($0, type) }, &budget)
        case .nested(let path, let condition):
            // A field is never null: it is missing then.
            if object[path[0]]?.isNull ?? true {
                return try condition.holds([MatchedLeaf(value: nil)], &budget)
            }
            return try condition.holds(try MatchedLeaf.all(.object(object), path[...], &budget), &budget)
        }
    }
}

/// Why a ``FilterMatcher`` cannot say whether an object fulfils a filter.
public enum FilterMatcherError: Error, Equatable, Sendable {
    /// The answer lies in other rows, or in columns that objects do not show: `$inQuery`, `$notInQuery`, `$select`,
    /// `$dontSelect`, `$relatedTo`, `$text`, conditions on relations and on the server's own columns.
    case needsDatabase(String)
    /// The database would refuse the filter, too: a pattern that is none, `$relativeTime` on what is no date.
    case invalid(ParseError)
    /// A pattern that cannot be matched in linear time, or not within the limits: one that refers back, looks around,
    /// or repeats too much.
    case unsupportedPattern(String)
    /// The filter and the object together ask for more work than ``FilterMatcher/steps``.
    case tooMuchWork
}
