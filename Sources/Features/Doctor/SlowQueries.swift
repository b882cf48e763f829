import Encoding
import JSON
import ParseStorage
import Postgres

/// Finds slow statements in `pg_stat_statements`, and missing indexes.
package struct SlowQueries: Sendable {
    let client: PostgresClient
    let facts: DatabaseFacts

    /// The mean time in milliseconds from which a statement is slow.
    static let slow = 50.0

    /// Returns all findings, without slow statements if `pg_stat_statements` is missing. Throws `PostgresError` if the
    /// connection fails.
    func findings() async throws -> [Finding] {
        let advised = try await IndexAdviser(client: client).advice(facts).map { advice in
            Finding(
                .missingIndex, .warning, advice.className, advice.words,
                remedy: Finding.Remedy(
                    words: "build an index on \(advice.columns.joined(separator: ", ")) of \(advice.className) without "
                        + "blocking writes", statements: [advice.statement]))
        }
        return relationFindings() + advised + (try await statementFindings())
    }

    private func statementFindings() async throws -> [Finding] {
        do {
            let rows = try await StatementStatistics(client: client).rows(from: Self.slow, limit: 10) ?? []
            return rows.map { row in
                let text = row.text.truncated(to: 300, "…")
                return Finding(
                    .slowQuery, .warning, "statement",
                    "\(row.calls) calls, \(Int(row.mean.rounded())) ms on average: \(text)")
            }
        } catch let error as PostgresError where error.kind == .server {
            return [
                Finding(
                    .notLookedAt, .note, "pg_stat_statements", "slow queries not checked: \(error.message)")
            ]
        }
    }

    /// Finds relations without an index on the owner. parse-server doesn't create one.
    private func relationFindings() -> [Finding] {
        let indexed = Set(
            facts.indexes.filter { $0.isValid && $0.isWhole && $0.keys.first == "owningId" }.map { Name($0.table) })
        return facts.classes.flatMap { schema in
            schema.relations.compactMap { name, join -> Finding? in
                guard join.utf8.count <= 63, facts.tables[Name(join)] != nil, !indexed.contains(Name(join)) else {
                    return nil
                }
                return Finding(
                    .missingIndex, .warning, "\(schema.name).\(name)",
                    "lookups by one object scan the whole relation",
                    remedy: .init(
                        words: "build an index for the relation \(schema.name).\(name) without blocking writes",
                        statements: [JoinTable.index(field: name, className: schema.name, concurrently: true)]))
            }
        }
    }
}
