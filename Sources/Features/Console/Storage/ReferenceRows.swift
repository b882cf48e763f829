import JSON
package import ParseModel
internal import ParseStorage
internal import Postgres

/// The number of objects that point to an object through one field.
package struct Reference: Sendable, Equatable {
    /// The class with the field.
    package let className: String
    /// The pointer or relation field.
    package let field: String
    package let count: Int
    /// Whether `count` is an estimate or a lower bound.
    package let isEstimate: Bool
}

package struct ReferenceRows: Sendable {
    let store: ObjectStore

    /// Counts the objects that point to an object through one field. Beyond the limits, returns `limit` or PostgreSQL's
    /// estimate.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of objects to count.
    ///   - time: The time limit, or nil to use PostgreSQL's estimate without counting.
    /// - Returns: The count, or nil if the field or its table doesn't exist or the field points to another class.
    package func references(
        to target: Pointer, by field: String, of className: String, limit: Int, within time: Duration?
    ) async throws -> Reference? {
        guard let schema = store.catalog.schema(className), let type = schema.type(of: field),
            type.targetClass == Name(target.className), !target.objectId.utf8.contains(0)
        else { return nil }
        let (table, column) =
            type.isRelation
            ? (TableLayout.joinTable(field: field, className: className), "relatedId") : (className, field)
        let rows = "SELECT FROM \(SQL.identifier(table)) WHERE \(SQL.identifier(column)) = $1"
        do {
            if let time {
                let count = try await counted(
                    Statement(
                        "SELECT count(*) FROM (\(rows) LIMIT \(limit + 1)) AS _found", [.text(target.objectId)]), time)
                if let count {
                    return Reference(
                        className: className, field: field, count: min(count, limit), isEstimate: count > limit)
                }
            }
            let plan = try await store.query("EXPLAIN (FORMAT JSON) \(rows)", [.text(target.objectId)], readOnly: true)
            let expected = try plan.jsonb(0, 0).map { try JSONValue(parsing: $0) }?.arrayValue?.first
            let number = expected?["Plan"]?["Plan Rows"]?.numberValue ?? 0
            return Reference(className: className, field: field, count: Int(number), isEstimate: true)
        } catch let error as PostgresError where DatabaseFailure.isStaleSchema(error) {
            return nil
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Runs a statement that counts rows. Returns nil if it times out.
    private func counted(_ statement: Statement, _ time: Duration) async throws -> Int? {
        do {
            return try await store.client.slowQuery(statement, timeLimit: time).int(0, 0).map { Int($0) }
        } catch let error as PostgresError where error.sqlState == "57014" && error.kind == .server {
            return nil
        }
    }
}
