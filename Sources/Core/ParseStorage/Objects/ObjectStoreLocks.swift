import JSON
import ParseModel
import Postgres

extension ObjectStore {
    /// An object that a transaction is going to change.
    public struct LockedRow: Sendable {
        /// The object's class.
        public var className: String
        /// The object's id.
        public var objectId: String
        /// Who may change it: others cannot lock it.
        public var access: WriteAccess

        /// Makes a row from its parts.
        public init(className: String, objectId: String, access: WriteAccess) {
            self.className = className
            self.objectId = objectId
            self.access = access
        }
    }

    /// Locks objects until the end of the transaction that this is part of, in one round trip, ordered by the bytes of their
    /// class and id.
    ///
    /// Objects that do not exist, or may not be changed, are passed over.
    ///
    /// - Parameter names: Names of users that are claimed before.
    public func lock(_ rows: [LockedRow], claiming names: Set<Name> = []) async throws {
        var classes: [Name: [LockedRow]] = [:]
        for row in rows { classes[Name(row.className), default: []].append(row) }
        var statements = AccountRows.claims(names)
        for (className, rows) in classes.sorted(by: { $0.key < $1.key }) {
            guard let schema = catalog.schema(className.text) else { continue }
            if schema.distributedBy == nil {
                statements.append(try Self.lock(rows, schema))
            } else {
                statements += try await DistributedObjects(store: self).locks(rows, schema)
            }
        }
        let all = statements
        guard !all.isEmpty else { return }
        try await retryingStaleSchema { _ = try await group(all) }
    }

    private static func lock(_ rows: [LockedRow], _ schema: ClassSchema) throws(ParseError) -> Statement {
        var compiler = WriteCompiler(schema: schema)
        // The calls of one caller differ in what they do at most: rows of one condition are one list.
        var conditions: [(condition: Filter, writers: [Name]?, ids: [String])] = []
        for row in rows {
            let access = row.access
            if let index = conditions.firstIndex(where: {
                $0.condition == access.filter && $0.writers == access.writers
            }) {
                conditions[index].ids.append(row.objectId)
            } else {
                conditions.append((access.filter, access.writers, [row.objectId]))
            }
        }
        var parts: [String] = []
        for (filter, writers, ids) in conditions {
            let condition = try condition(WriteAccess(writers: writers, filter: filter), schema, &compiler)
            parts.append("(\"objectId\" = ANY(\(compiler.builder.bind(.textArray(ids)))) AND \(condition))")
        }
        // PostgreSQL locks after it sorted.
        return Statement(
            "SELECT 1 FROM \(SQLBuilder.quote(schema.name)) WHERE \(parts.joined(separator: " OR ")) "
                + "ORDER BY \"objectId\" COLLATE \"C\" FOR UPDATE", compiler.builder.parameters)
    }

    /// Whether there is an object that may be changed.
    public func canChange(_ className: String, objectId: String, access: WriteAccess) async throws -> Bool {
        guard !objectId.utf8.contains(0) else { return false }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return false }
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(access, schema, &compiler)
            let id = compiler.builder.bind(.text(objectId))
            let rows = try await query(
                "SELECT 1 FROM \(SQLBuilder.quote(className)) WHERE \"objectId\" = \(id) AND \(condition)",
                compiler.builder.parameters, readOnly: true)
            return rows.rowCount > 0
        }
    }
}
