import JSON

/// Matches objects against a filter without the database, as live queries do for every change.
///
/// Its results equal those of the same filter in SQL. A missing field is null, an array matches by its elements, and a
/// value of another type never matches and isn't an error. Texts are compared by bytes, and patterns know only ASCII
/// letters (`\w`, case), as in a database with the collation `C`, which Roost uses when it creates one.
///
/// Create a matcher once per filter and use it for many objects. The caller's budget limits the work, and patterns
/// never backtrack.
public struct FilterMatcher: Sendable {
    private indirect enum Node: Sendable {
        case constant(Bool)
        case all([Node])
        case any([Node])
        case not(Node)
        case column(Name, FieldType, ColumnCondition)
        case nested([String], NestedCondition)
    }

    private let root: Node
    /// The approximate memory size in bytes.
    public let weight: Int

    /// - Throws: ``FilterMatcherError`` for unsupported patterns, and filters that are invalid or need the database.
    public init(_ filter: Filter, schema: ClassSchema) throws(FilterMatcherError) {
        var weight = MatcherWeight()
        root = try Self.node(filter, schema, &weight)
        self.weight = weight.bytes
    }

    /// Whether an object, in the format that clients receive, matches the filter. Subtracts the work from a budget.
    ///
    /// - Throws: ``FilterMatcherError/tooMuchWork`` if the budget is exhausted.
    public func matches(_ object: JSONObject, _ budget: inout MatchBudget) throws(FilterMatcherError) -> Bool {
        try Self.holds(root, object, &budget)
    }

    private static func nodes(_ parts: [Filter], _ schema: ClassSchema, _ weight: inout MatcherWeight)
        throws(FilterMatcherError) -> [Node]
    {
        try parts.map { part throws(FilterMatcherError) in try node(part, schema, &weight) }
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
            // Columns that only the server reads aren't fields of objects.
            guard field.utf8.first != UInt8(ascii: "_") else { throw .needsDatabase(field) }
            // An invalid pattern is an error even if the class doesn't have the field yet.
            if case .regex(let pattern, let options) = constraint {
                _ = try TextPattern(pattern, options: options, &weight)
            }
            return .constant(constraint.isMetByMissingField)
        }
        let isWhole = path.steps.isEmpty
        switch type {
        case .relation where isWhole: throw .needsDatabase(field)
        case .object, .bytes, .array:
            let condition = try NestedCondition(constraint, isList: type == .array && isWhole, &weight)
            return .nested([field] + path.steps, condition)
        case .acl, .relation: return .constant(constraint.isMetByMissingField)
        default:
            // Values of these types, such as dates and pointers, have no nested values.
            guard isWhole else { return .constant(constraint.isMetByMissingField) }
            return .column(Name(field), type, try ColumnCondition(constraint, type, &weight))
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
            // A polygon is parsed corner by corner, whatever the condition.
            if type == .polygon { try budget.spend(value?["coordinates"]?.arrayValue?.count ?? 0) }
            return try condition.holds(value.flatMap { ColumnValue($0, type) }, &budget)
        case .nested(let path, let condition):
            // A null top-level field counts as missing: in both cases its column is NULL.
            if object[path[0]]?.isNull ?? true {
                return try condition.holds([MatchedLeaf(value: nil)], &budget)
            }
            return try condition.holds(try MatchedLeaf.all(.object(object), path[...], &budget), &budget)
        }
    }
}

/// The reason why a ``FilterMatcher`` can't match a filter.
public enum FilterMatcherError: Error, Equatable, Sendable {
    /// The result depends on other rows, as with `$inQuery`, on columns that objects don't contain, or on an operator
    /// that only the database supports, such as `$text` and `$elemMatch`. The value names the operator or column.
    case needsDatabase(String)
    /// The database would also reject the filter, for example because of an invalid pattern.
    case invalid(ParseError)
    /// The pattern can't be matched in linear time or within the limits, for example because it has back-references,
    /// lookaround or too many repetitions. The value is the reason.
    case unsupportedPattern(String)
    /// The filter and the object together need more work than the budget allows.
    case tooMuchWork
}
