import JSON
import Operations
import ParseModel
import ParseStorage
import Postgres

/// Slow statements with their plans, and index recommendations, for the console.
package struct SlowStatements: Sendable {
    private let backend: Backend

    private static let maxRows = 20
    /// The average duration in milliseconds from which a statement in PostgreSQL's statistics is slow.
    private static let slow = 20.0

    package init(backend: Backend) { self.backend = backend }

    /// Returns the index recommendations, and the statements by total duration. The statements come from PostgreSQL's
    /// statistics or, if it collects none, from this process.
    ///
    /// - Throws: `ParseError` if the database fails.
    package func answer() async throws -> JSONObject {
        let counted = try await backend.store.convertingErrors { try await self.counted() }
        let advice = try await backend.store.convertingErrors(backend.indexAdvising.advice)
        return [
            "source": counted == nil ? "process" : "database",
            "slowMs": .number(
                counted == nil ? backend.slowLog.threshold.map { $0 / .milliseconds(1) } ?? 0 : Self.slow),
            "isAdvising": .bool(advice != nil), "rows": .array(counted ?? recorded),
            "advice": .array((advice ?? []).map { .object(described($0)) }),
        ]
    }

    /// Returns a statement with its generic plan, or with PostgreSQL's reason for rejecting it.
    ///
    /// - Throws: 101 if the id is unknown or has no statement, or `ParseError` if the database fails.
    package func plan(of id: String) async throws -> JSONObject {
        try await backend.store.convertingErrors {
            guard let text = try await text(of: id), !text.isEmpty else { throw ParseError.notFound }
            do {
                return ["text": .string(text), "plan": try await backend.store.aggregates.genericPlan(of: text)]
            } catch let error as PostgresError where error.kind == .server {
                return ["text": .string(text), "planError": .string(error.message)]
            }
        }
    }

    private func text(of id: String) async throws -> String? {
        if let recorded = backend.slowLog.shapes.first(where: { $0.hash == id }) { return recorded.shape.statement }
        return try await StatementStatistics(client: backend.store.client).row(id)?.text
    }

    private func counted() async throws -> [JSONValue]? {
        do {
            return try await StatementStatistics(client: backend.store.client).rows(
                from: Self.slow, limit: Self.maxRows)?
                .map {
                    [
                        "id": .string($0.id), "text": .string($0.text), "calls": .number(Double($0.calls)),
                        "mean": .number($0.mean), "longest": .number($0.longest), "total": .number($0.total),
                        "rows": .number(Double($0.rows)),
                    ]
                }
        } catch let error as PostgresError where error.kind == .server {
            // For example, the extension is installed, but its library isn't loaded.
            return nil
        }
    }

    private var recorded: [JSONValue] {
        backend.slowLog.shapes.sorted { $0.shape.total > $1.shape.total }.prefix(Self.maxRows).map { hash, shape in
            let total = shape.total / .milliseconds(1)
            var row: JSONObject = [
                "id": .string(hash), "text": .string(shape.statement), "calls": .number(Double(shape.count)),
                "mean": .number(total / Double(max(1, shape.count))),
                "longest": .number(shape.longest / .milliseconds(1)), "total": .number(total),
            ]
            if !shape.className.isEmpty { row["className"] = .string(shape.className) }
            return .object(row)
        }
    }

    private func described(_ advice: IndexAdvice) -> JSONObject {
        var object = advice.json
        if isOfClass(advice) { object["fields"] = .array(advice.columns.map { .string($0) }) }
        return object
    }

    private func isOfClass(_ advice: IndexAdvice) -> Bool {
        guard let schema = backend.catalog.schema(advice.className) else { return false }
        return advice.columns.allSatisfy { schema.fields[Name($0)] != nil }
    }

    /// Returns the named recommendation, or nil if it doesn't exist or covers columns that aren't fields.
    ///
    /// - Throws: `ParseError` if the database fails.
    package func advice(named name: String) async throws -> IndexAdvice? {
        try await backend.store.convertingErrors(backend.indexAdvising.advice)?.first {
            $0.name == name && isOfClass($0)
        }
    }
}
