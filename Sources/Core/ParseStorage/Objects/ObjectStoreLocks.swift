import JSON
import ParseModel
import Postgres

extension ObjectStore {
    /// An object to lock for a change in a transaction, unless the access doesn't allow the change.
    public typealias LockedRow = (className: String, objectId: String, access: WriteAccess)

    /// Locks objects until the end of the current transaction, all in one group of statements. They are locked in byte
    /// order of class and id, so that two transactions don't deadlock on them.
    ///
    /// Objects are skipped if they or their class don't exist, or if the caller can't change them.
    ///
    /// - Parameter names: User names and email addresses to lock first, against use by other requests.
    public func lock(_ rows: [LockedRow], claiming names: Set<Name> = []) async throws {
        var classes: [Name: [LockedRow]] = [:]
        for row in rows { classes[Name(row.className), default: []].append(row) }
        var statements = [AccountRows.claiming(names)].compactMap(\.self)
        for (className, rows) in classes.sorted(by: { $0.key < $1.key }) {
            guard let schema = catalog.schema(className.text) else { continue }
            let separate = try await schema.separateLocks(rows, in: self)
            statements += try separate ?? [Self.lock(rows, schema)]
        }
        let all = statements
        guard !all.isEmpty else { return }
        try await retryingStaleSchema { _ = try await group(all) }
    }

    private static func lock(_ rows: [LockedRow], _ schema: ClassSchema) throws(ParseError) -> Statement {
        var compiler = WriteCompiler(schema: schema)
        // The calls of one caller rarely differ in their conditions, so rows with the same condition share a list of
        // ids.
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
        // PostgreSQL sorts before it locks.
        return Statement(
            "SELECT 1 FROM \(SQL.identifier(schema.name)) WHERE \(parts.joined(separator: " OR ")) "
                + "ORDER BY \"objectId\" COLLATE \"C\" FOR UPDATE", compiler.builder.parameters)
    }

    /// Whether the object exists and the caller may change it.
    public func canChange(_ className: String, objectId: String, access: WriteAccess) async throws -> Bool {
        guard !objectId.utf8.contains(0) else { return false }
        return try await retryingStaleSchema {
            guard let schema = catalog.schema(className) else { return false }
            var compiler = WriteCompiler(schema: schema)
            let condition = try Self.condition(access, schema, &compiler)
            let id = compiler.builder.bind(.text(objectId))
            let rows = try await query(
                "SELECT 1 FROM \(SQL.identifier(className)) WHERE \"objectId\" = \(id) AND \(condition)",
                compiler.builder.parameters, readOnly: true)
            return rows.rowCount > 0
        }
    }
}
