/// Limits that hold for every caller, the master key included, without any configuration.
///
/// They are far above what apps do. Each keeps the work for one request in proportion to its size, or within what
/// PostgreSQL takes in one statement.
public enum HardLimits {
    /// Steps of a path of `include`, `keys` or `excludeKeys`.
    public static let includeDepth = 32
    /// Paths of `include`.
    public static let includes = 1_000
    /// Names in `keys` or `excludeKeys`.
    public static let keys = 5_000
    /// Keys of `order`.
    public static let sortKeys = 100
    /// Conditions of a query, those of its inner queries included.
    public static let conditions = 5_000
    /// Queries inside a query, and conditions on relations (`$relatedTo`).
    public static let subqueries = 100
    /// Values of all lists of a query (`$in`, `$nin`, `$containedBy`, points of polygons).
    public static let listValues = 50_000
    /// Values of a `$all`, each of which is a condition of its own.
    public static let allValues = 1_000
    /// Steps of a dotted key.
    public static let keyDepth = 100
    /// Keys of a write.
    public static let operations = 5_000
    /// Dotted keys of a write.
    public static let dottedKeys = 1_000
    /// Nulls with which the dotted keys of a write fill new lists up to the elements that they name, and each a list that
    /// there is.
    public static let filledElements = 10_000
    /// The sum of the numbers in the dotted keys of a write, each of which may stand for so many elements of a list.
    public static let elementNumbers = 1_000_000
    /// Operations of a `Batch` on a relation.
    public static let batchedOperations = 1_000
    /// Objects that a write puts into relations or takes out of them.
    public static let relatedObjects = 100_000
    /// Principals of an ACL.
    public static let principals = 5_000
    /// Roles of a user, those inherited included: each statement of the user compares them with the ACLs of rows.
    public static let roles = 1_000
    /// Bytes of the name of a role.
    public static let roleName = 1_000
    /// Fields of a class: PostgreSQL has room for 1,600 columns, those that were dropped included.
    public static let fields = 1_000
    /// Stages of an aggregation, those of its inner pipelines included.
    public static let stages = 100
    /// Fields that a stage of an aggregation names.
    public static let stageMembers = 1_000
    /// Expressions of an aggregation.
    public static let expressions = 5_000
    /// The maximum nesting of an aggregation's expressions.
    public static let expressionDepth = 100
    /// The maximum nesting of an aggregation's lookups.
    public static let lookups = 20

    /// Refuses what is more than a limit.
    ///
    /// - Parameter what: What is counted, such as "conditions".
    /// - Throws: 102, or another code.
    public static func check(_ count: Int, atMost limit: Int, _ what: String, code: Int = ParseError.invalidQuery)
        throws(ParseError)
    {
        guard count > limit else { return }
        throw ParseError(code, "Number of \(what) (\(count)) exceeds maximum allowed (\(limit))")
    }
}
