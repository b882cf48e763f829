import JSON
import Postgres

/// The statements that took longest, where PostgreSQL keeps count of them, and the indexes that are missing.
struct SlowQueries: Sendable {
    let client: PostgresClient
    let facts: DatabaseFacts

    /// From how many milliseconds on average a statement is slow.
    static let slow = 50.0

    /// Reads the statistics, where `pg_stat_statements` is there.
    ///
    /// - Throws: `PostgresError` when the database is gone.
    func findings() async throws -> [Finding] {
        relationFindings() + (try await statementFindings())
    }

    private func statementFindings() async throws -> [Finding] {
        do {
            let present = try await client.query(
                "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_stat_statements')", [], readOnly: true)
            guard present.bool(0, 0) == true else { return [] }
            let rows = try await client.slowQuery(
                Statement(Self.statements, [.double(Self.slow)]), timeLimit: .seconds(10))
            return (0..<rows.rowCount).compactMap { row in
                guard let text = rows.string(row, 0), let mean = rows.double(row, 1), let calls = rows.int(row, 2)
                else {
                    return nil
                }
                return finding(text, mean: mean, calls: Int(calls))
            }
        } catch let error as PostgresError where error.kind == .server {
            return [
                Finding(
                    .notLookedAt, .note, "pg_stat_statements", "slow statements are not looked at: \(error.message)")
            ]
        }
    }

    /// Judges one statement.
    func finding(_ text: String, mean: Double, calls: Int) -> Finding {
        let advice = IndexAdvice(facts: facts).advice(for: text)
        let shown = text.utf8.count > 300 ? String(text.prefix(300)) + "…" : text
        return Finding(
            .slowQuery, .warning, advice?.table ?? "statement",
            "\(calls) times, \(Int(mean.rounded())) ms each: \(shown)", remedy: advice.map(IndexAdvice.remedy))
    }

    private static let statements = """
        SELECT s.query, s.mean_exec_time, s.calls FROM pg_stat_statements s \
        WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
        AND s.mean_exec_time >= $1 AND s.query ~ '^[[:space:]]*(SELECT|WITH|UPDATE|DELETE)' \
        AND s.query !~ 'pg_(stat|catalog|class)|array_agg.x ORDER BY x' \
        ORDER BY s.total_exec_time DESC LIMIT 10
        """

    /// Relations that are read by their owner without an index, as parse-server makes them.
    private func relationFindings() -> [Finding] {
        let indexed = Set(
            facts.indexes.filter { $0.isValid && $0.isWhole && $0.keys.first == "owningId" }.map { Name($0.table) })
        return facts.classes.flatMap { schema in
            schema.fields.compactMap { name, field -> Finding? in
                let join = TableLayout.joinTable(field: name.text, className: schema.name)
                guard field.type.isRelation, join.utf8.count <= 63, facts.tables[Name(join)] != nil,
                    !indexed.contains(Name(join))
                else { return nil }
                return Finding(
                    .missingIndex, .warning, "\(schema.name).\(name)",
                    "the relation is read whole to find what belongs to one object",
                    remedy: .init(
                        words: "build an index for the relation \(schema.name).\(name) beside other work",
                        statements: [
                            RelationIndex.statement(field: name.text, className: schema.name)
                        ]))
            }
        }
    }
}

/// The index that finds what belongs to one object of a relation.
enum RelationIndex {
    /// The statement that builds it beside other work.
    static func statement(field: String, className: String) -> String {
        let name = IndexName.ofRoost("roost_owner:\(field):\(className)")
        let table = SQL.identifier(TableLayout.joinTable(field: field, className: className))
        return "CREATE INDEX CONCURRENTLY IF NOT EXISTS \(SQL.identifier(name)) ON \(table) (\"owningId\")"
    }
}
