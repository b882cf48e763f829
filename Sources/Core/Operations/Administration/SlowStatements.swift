public import JSON
import ParseModel
public import ParseStorage
import Postgres

/// Slow statements with their plans, and index recommendations, for the console.
public struct SlowStatements: Sendable {
    let backend: Backend

    private static let maxRows = 20
    /// The average duration in milliseconds from which a statement in PostgreSQL's statistics is slow.
    private static let slow = 20.0

    /// A statement for the console. Times are in milliseconds.
    private struct Row {
        var id: String
        var text: String
        var className: String?
        var calls: Int
        var mean: Double
        var longest: Double
        var total: Double
        var rows: Int?

        var json: JSONValue {
            var object: JSONObject = [
                "id": .string(id), "text": .string(text), "calls": .number(Double(calls)), "mean": .number(mean),
                "longest": .number(longest), "total": .number(total),
            ]
            object["className"] = className.map { .string($0) }
            object["rows"] = rows.map { .number(Double($0)) }
            return .object(object)
        }
    }

    /// Returns the index recommendations, and the statements by total duration. The statements come from PostgreSQL's
    /// statistics or, if it collects none, from this process.
    ///
    /// - Throws: `ParseError` if the database fails.
    public func answer() async throws -> JSONObject {
        do {
            let counted = try await counted()
            let advice = try await backend.indexAdvising.advice()
            return [
                "source": counted == nil ? "process" : "database",
                "slowMs": .number(
                    counted == nil ? backend.slowLog.threshold.map { $0 / .milliseconds(1) } ?? 0 : Self.slow),
                "isAdvising": .bool(advice != nil), "rows": .array((counted ?? recorded).map(\.json)),
                "advice": .array((advice ?? []).map { .object(described($0)) }),
            ]
        } catch let error as PostgresError {
            throw backend.store.failure(error)
        }
    }

    /// Returns a statement with its generic plan, or with PostgreSQL's reason for rejecting it.
    ///
    /// - Throws: 101 if the id is unknown, or `ParseError` if the database fails.
    public func plan(of id: String) async throws -> JSONObject {
        do {
            guard let text = try await text(of: id), !text.isEmpty else { throw ParseError.notFound }
            do {
                return ["text": .string(text), "plan": try await backend.store.aggregates.genericPlan(of: text)]
            } catch let error as PostgresError where error.kind == .server {
                return ["text": .string(text), "planError": .string(error.message)]
            }
        } catch let error as PostgresError {
            throw backend.store.failure(error)
        }
    }

    private func text(of id: String) async throws -> String? {
        if let recorded = backend.slowLog.shapes.first(where: { $0.hash == id }) { return recorded.shape.statement }
        return try await StatementStatistics(client: backend.store.client).row(id)?.text
    }

    private func counted() async throws -> [Row]? {
        do {
            return try await StatementStatistics(client: backend.store.client).rows(
                from: Self.slow, limit: Self.maxRows)?
                .map {
                    Row(
                        id: $0.id, text: $0.text, calls: $0.calls, mean: $0.mean, longest: $0.longest,
                        total: $0.total, rows: $0.rows)
                }
        } catch let error as PostgresError where error.kind == .server {
            // The extension is installed, but its library isn't loaded.
            return nil
        }
    }

    private var recorded: [Row] {
        backend.slowLog.shapes.map { hash, shape in
            let total = shape.total / .milliseconds(1)
            return Row(
                id: hash, text: shape.statement, className: shape.className.isEmpty ? nil : shape.className,
                calls: shape.count, mean: total / Double(max(1, shape.count)),
                longest: shape.longest / .milliseconds(1), total: total)
        }.sorted { $0.total > $1.total }.prefix(Self.maxRows).map { $0 }
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
    public func advice(named name: String) async throws -> IndexAdvice? {
        do {
            return try await backend.indexAdvising.advice()?.first { $0.name == name && isOfClass($0) }
        } catch let error as PostgresError {
            throw backend.store.failure(error)
        }
    }
}
