import JSON
import Postgres

/// The statements that took longest, by what servers noted and by what PostgreSQL keeps count of, and the indexes that are
/// missing.
package struct SlowQueries: Sendable {
    let client: PostgresClient
    let facts: DatabaseFacts

    /// From how many milliseconds on average a statement is slow.
    static let slow = 50.0

    /// Reads the statistics, where `pg_stat_statements` is there; throws `PostgresError` when the database is gone.
    func findings() async throws -> [Finding] {
        let adviser = IndexAdviser(client: client)
        let report = try await adviser.report(.reporting, facts)
        let noted =
            report.advice.map {
                Finding(.missingIndex, .warning, $0.className, $0.words, remedy: Self.remedy($0))
            }
            + report.hopeless.map {
                Finding(.slowQuery, .warning, $0.className, "\($0.words); no index of its fields helps")
            }
        let unused = report.unused.map {
            Finding(
                .unusedIndex, .note, $0.name,
                "nobody used this index of \($0.table) for \($0.days) days; it takes \($0.bytes / 1024) KB",
                advice: "DROP INDEX CONCURRENTLY \(SQL.identifier($0.name))")
        }
        return relationFindings() + unused + noted + (try await statementFindings(adviser, besides: report.advice))
    }

    private static func remedy(_ advice: IndexAdvice) -> Finding.Remedy {
        Finding.Remedy(
            words:
                "build an index of \(advice.className) on \(advice.columns.joined(separator: ", ")) beside other work",
            statements: [advice.statement])
    }

    private func statementFindings(_ adviser: IndexAdviser, besides noted: [IndexAdvice]) async throws -> [Finding] {
        do {
            guard let rows = try await StatementStatistics(client: client).rows(from: Self.slow, limit: 10) else {
                return []
            }
            var findings: [Finding] = []
            var named = Set(noted.map(\.name))
            for row in rows {
                let notes = Self.notes(of: row.text, mean: row.mean, calls: row.calls)
                let advice = try await adviser.advice(for: notes, facts).first
                let shown = row.text.utf8.count > 300 ? String(row.text.prefix(300)) + "…" : row.text
                let isNew = advice.map { named.insert($0.name).inserted } ?? false
                findings.append(
                    Finding(
                        .slowQuery, .warning, advice?.className ?? "statement",
                        "\(row.calls) times, \(Int(row.mean.rounded())) ms each: \(shown)",
                        remedy: isNew ? advice.map(Self.remedy) : nil))
            }
            return findings
        } catch let error as PostgresError where error.kind == .server {
            return [
                Finding(
                    .notLookedAt, .note, "pg_stat_statements", "slow statements are not looked at: \(error.message)")
            ]
        }
    }

    /// What PostgreSQL counted, as servers note it.
    package static func notes(of text: String, mean: Double, calls: Int) -> [NoteTable.Note] {
        let figures = FindNotes.Figures(calls: calls, total: mean * Double(calls), longest: mean)
        return StatementReader.shapes(of: text).map { NoteTable.Note(shape: $0, today: .init(), month: figures) }
    }

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
