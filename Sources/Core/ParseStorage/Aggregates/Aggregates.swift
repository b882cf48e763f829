import JSON
import ParseModel
import Postgres

/// Runs aggregations and `distinct` queries.
public struct Aggregates: Sendable {
    let store: ObjectStore

    /// Runs an aggregation pipeline and returns its documents, or none if the class doesn't exist.
    ///
    /// - Parameters:
    ///   - now: The reference time for relative dates, in milliseconds since 1970.
    ///   - mergesDateParts: Whether a group by date parts includes all objects with these parts, even if dates differ.
    ///   - place: The database server to read from.
    /// - Throws: 102 or 105 for invalid pipelines, and other errors if the database fails.
    public func aggregate(
        _ className: String, _ stages: [AggregateStage], now: Int64, mergesDateParts: Bool = true,
        place: ReadPlace = .primary
    ) async throws -> [JSONValue] {
        try await run(className) { schema, schemas in
            var compiler = AggregateCompiler(
                schemas: schemas, schema: schema, now: now, mergesDateParts: mergesDateParts)
            let statement = try compiler.compile(stages)
            return try await store.reading(className, place) { store in
                Self.values(of: try await store.timed(statement.sql) { try await store.client.heavyQuery(statement) })
            }
        }
    }

    /// Returns the distinct values of a field. Array elements count separately.
    ///
    /// - Parameter place: The database server to read from.
    /// - Throws: 105 for invalid field names, and other errors if the database fails.
    public func distinct(_ className: String, _ field: String, _ filter: Filter, place: ReadPlace = .primary)
        async throws -> [JSONValue]
    {
        let field = try AggregateNames.checked(field)
        // Internal columns, such as password hashes, aren't fields.
        let root = FieldPath(field).root
        guard root == "_id" || Names.isIdentifier(root) else {
            throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(field)")
        }
        return try await run(className) { schema, schemas in
            guard let values = try DistinctValues(of: field, schema, filter, schemas) else { return [] }
            return try await store.reading(className, place) { store in
                var statement = values.statement
                if let jump = values.jump, try await store.client.query(jump.question, readOnly: true).rowCount > 0 {
                    statement = jump.statement
                }
                let shape = values.jump.map { _ in
                    QueryShape(table: Name(className), distinct: Name(SystemClass.field(queriedAs: root)))
                }
                return Self.values(
                    of: try await store.timed(statement.sql, shape) { try await store.client.heavyQuery(statement) })
            }
        }
    }

    private func run(
        _ className: String, _ read: (ClassSchema, SchemaSnapshot) async throws -> [JSONValue]
    ) async throws -> [JSONValue] {
        do {
            return try await store.fresh(className, otherwise: []) { _ in
                let schemas = store.catalog.snapshot.withoutSecrets
                guard let schema = schemas[className] else { return [] }
                return try await read(schema, schemas)
            }
        } catch let error as PostgresError {
            // Administrators write aggregations, so a faulty value or statement is an invalid query, not a failure.
            guard error.kind == .server, error.sqlState.hasPrefix("22") || error.sqlState.hasPrefix("42") else {
                throw store.failure(error)
            }
            throw ParseError(ParseError.invalidQuery, "The aggregation can't be computed: \(error.message)")
        }
    }

    /// Returns the plan of a statement with unknown parameters.
    ///
    /// - Parameter sql: A statement from the slow log or from `pg_stat_statements`. It isn't executed.
    /// - Throws: `PostgresError` if PostgreSQL can't plan it.
    public func genericPlan(of sql: String) async throws -> JSONValue {
        let numbers = sql.split(separator: "$").dropFirst().compactMap { Int($0.prefix { ("0"..."9").contains($0) }) }
        let count = numbers.max() ?? 0
        let values = count == 0 ? "" : "(\(Array(repeating: "NULL", count: count).joined(separator: ", ")))"
        let rows = try await store.client.exclusively { session in
            do {
                _ = try await session.query("SET plan_cache_mode = force_generic_plan", [])
                _ = try await session.query("PREPARE roost_explained AS \(sql)", [])
                let rows = try await session.query("EXPLAIN (FORMAT JSON) EXECUTE roost_explained\(values)", [])
                await Self.forgetPlan(in: session)
                return rows
            } catch {
                await Self.forgetPlan(in: session)
                throw error
            }
        }
        return try rows.jsonb(0, 0).map { try JSONValue(parsing: $0) } ?? .null
    }

    /// Restores the connection in a separate task, which survives the cancellation of the caller.
    private static func forgetPlan(in session: PostgresSession) async {
        await Task {
            _ = try? await session.query("RESET plan_cache_mode", [])
            _ = try? await session.query("DEALLOCATE roost_explained", [])
        }.value
    }

    private static func values(of rows: PostgresResult) -> [JSONValue] {
        (0..<rows.rowCount).compactMap { rows.json($0, 0) }
    }
}
