import JSON
import ParseModel
import Postgres

/// What is computed of many objects at once.
public struct Aggregates: Sendable {
    let store: ObjectStore

    /// Runs an aggregation pipeline and gives its documents.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970, for relative dates.
    ///   - mergesDateParts: Whether objects whose dates differ, but not in the parts that make a group, are one group.
    ///   - place: Where the objects are read.
    /// - Throws: 102, 105 for pipelines that make no sense.
    public func aggregate(
        _ className: String, _ stages: [AggregateStage], now: Int64, mergesDateParts: Bool = true,
        place: ReadPlace = .primary
    ) async throws -> [JSONValue] {
        do {
            return try await store.fresh(className, otherwise: []) { _ in
                let schemas = store.catalog.snapshot.withoutSecrets
                guard let schema = schemas[className] else { return [] }
                var compiler = AggregateCompiler(
                    schemas: schemas, schema: schema, now: now, mergesDateParts: mergesDateParts)
                return try await values(of: try compiler.compile(stages), className, place)
            }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    /// The different values of a field, elements of arrays one by one.
    ///
    /// - Parameter place: Where the objects are read.
    /// - Throws: 105 for names that no field has.
    public func distinct(_ className: String, _ field: String, _ filter: Filter, place: ReadPlace = .primary)
        async throws -> [JSONValue]
    {
        let field = try AggregateCompiler.checked(field)
        // Internal columns, such as password hashes, aren't fields.
        let root = FieldPath(field).root
        guard root == "_id" || Names.isIdentifier(root) else {
            throw ParseError(ParseError.invalidKeyName, "Invalid field name: \(field)")
        }
        do {
            return try await store.fresh(className, otherwise: []) { _ in
                let schemas = store.catalog.snapshot.withoutSecrets
                guard let schema = schemas[className],
                    let values = try DistinctValues(of: field, schema, filter, schemas)
                else { return [] }
                return try await store.reading(className, place) { store in
                    var statement = values.statement
                    if let jump = values.jump, try await store.client.query(jump.question, readOnly: true).rowCount > 0
                    {
                        statement = jump.statement
                    }
                    let chosen = statement
                    let shape = values.jump.map { _ in
                        QueryShape(table: Name(className), distinct: Name(SystemClass.field(queriedAs: root)))
                    }
                    return Self.values(
                        of: try await store.noting(chosen.sql, shape) { try await store.client.heavyQuery(chosen) })
                }
            }
        } catch let error as PostgresError {
            throw failure(error)
        }
    }

    /// The values of the one column that a statement gives.
    private func values(of statement: Statement, _ className: String, _ place: ReadPlace) async throws -> [JSONValue] {
        let rows = try await store.reading(className, place) { store in
            try await store.noting(statement.sql) { try await store.client.heavyQuery(statement) }
        }
        return Self.values(of: rows)
    }

    /// The plan of a statement whose parameters are not known.
    ///
    /// - Parameter sql: A statement that this server has made; it is not carried out.
    /// - Throws: `PostgresError` for one that cannot be planned.
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

    /// Leaves a connection as it was, also where the caller has left.
    private static func forgetPlan(in session: PostgresSession) async {
        await Task {
            _ = try? await session.query("RESET plan_cache_mode", [])
            _ = try? await session.query("DEALLOCATE roost_explained", [])
        }.value
    }

    private static func values(of rows: PostgresResult) -> [JSONValue] {
        (0..<rows.rowCount).compactMap { rows.jsonb($0, 0).flatMap { try? JSONValue(parsing: $0) } }
    }

    /// Aggregations are the administrator's own words: what they get wrong is a bad query, not a broken server.
    private func failure(_ error: PostgresError) -> any Error {
        guard error.kind == .server, error.sqlState.hasPrefix("22") || error.sqlState.hasPrefix("42") else {
            return store.failure(error)
        }
        return ParseError(ParseError.invalidQuery, "The aggregation can't be computed: \(error.message)")
    }
}
