/// Limits for every caller, including the master key, that can't be configured.
///
/// They are far above what apps need. Each keeps the work for a request proportional to its size, or within what
/// PostgreSQL accepts in one statement.
public enum HardLimits {
    /// Steps of a path in `include`, `keys` or `excludeKeys`.
    public static let includeDepth = 32
    /// Paths in `include`.
    public static let includes = 1_000
    /// Names in `keys` or `excludeKeys`.
    public static let keys = 5_000
    /// Keys in `order`.
    public static let sortKeys = 100
    /// Conditions of a query and its subqueries, including groups and values of `$all`.
    public static let conditions = 5_000
    /// Subqueries of a query, including conditions on relations (`$relatedTo`).
    public static let subqueries = 100
    /// Values in all lists of a query (`$in`, `$nin`, `$containedBy`, points of polygons).
    public static let listValues = 50_000
    /// Values of a `$all`, each of which becomes a condition.
    public static let allValues = 1_000
    /// Dots in a key of a query or sort order.
    public static let keyDepth = 100
    /// Keys of a write.
    public static let operations = 5_000
    /// Dotted keys of a write.
    public static let dottedKeys = 1_000
    /// Nulls that dotted keys insert to reach their array indexes: in all lists of a new object together, and in each
    /// list of an existing object.
    public static let filledElements = 10_000
    /// The sum of the array indexes in the dotted keys of a write. Each may require that many list elements.
    public static let elementNumbers = 1_000_000
    /// Operations of a `Batch`.
    public static let batchedOperations = 1_000
    /// Objects of one `AddRelation` or `RemoveRelation`.
    public static let relatedObjects = 100_000
    /// Principals of an ACL.
    public static let principals = 5_000
    /// Roles of a user, including inherited ones. More are ignored, because queries compare all with each row's ACL.
    public static let roles = 1_000
    /// The maximum length of a role name in bytes.
    public static let roleName = 1_000
    /// Fields of a class. PostgreSQL allows 1,600 columns, including dropped ones.
    public static let fields = 1_000
    /// Stages of an aggregation, including those of its inner pipelines.
    public static let stages = 100
    /// Members of an aggregation stage's operand, and boundaries of a `$bucket`.
    public static let stageMembers = 1_000
    /// Expressions of an aggregation, and operands of one expression.
    public static let expressions = 5_000
    /// The maximum nesting of an aggregation's expressions.
    public static let expressionDepth = 100
    /// The maximum nesting of an aggregation's lookups.
    public static let lookups = 20

    /// Checks that a count doesn't exceed its limit.
    ///
    /// - Parameter what: The noun for the counted items, such as "conditions".
    /// - Throws: 102, or another `code`.
    public static func check(_ count: Int, atMost limit: Int, _ what: String, code: Int = ParseError.invalidQuery)
        throws(ParseError)
    {
        guard count > limit else { return }
        throw ParseError(code, "Number of \(what) (\(count)) exceeds maximum allowed (\(limit))")
    }
}
