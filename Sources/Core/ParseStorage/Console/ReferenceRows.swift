import JSON
import ParseModel
import Postgres

/// Objects that point to one object, by a field.
public struct Reference: Sendable, Equatable {
    /// The pointing class.
    public let className: String
    /// Its field: a pointer, or a relation.
    public let field: String
    /// How many objects of it point.
    public let count: Int
    /// Whether there may be more or fewer.
    public let isEstimate: Bool
}

/// Counts what points to an object.
public struct ReferenceRows: Sendable {
    let store: ObjectStore

    /// How many objects point to one, by one field. So many are counted at most, and for so long; where that does not do,
    /// it is what PostgreSQL expects.
    ///
    /// - Parameter time: How long it is counted; nil for not at all.
    /// - Returns: nil where there is no such field, or it points elsewhere.
    public func references(
        to target: Pointer, by field: String, of className: String, most: Int, within time: Duration?
    ) async throws -> Reference? {
        guard let schema = store.catalog.schema(className), let type = schema.type(of: field),
            type.targetClass == Name(target.className), !target.objectId.utf8.contains(0)
        else { return nil }
        let (table, column) =
            type.isRelation
            ? (TableLayout.joinTable(field: field, className: className), "relatedId") : (className, field)
        let rows = "SELECT FROM \(SQLBuilder.quote(table)) WHERE \(SQLBuilder.quote(column)) = $1"
        do {
            if let time {
                let count = try await counted(
                    Statement(
                        "SELECT count(*) FROM (\(rows) LIMIT \(most + 1)) AS _found", [.text(target.objectId)]), time)
                if let count {
                    return Reference(
                        className: className, field: field, count: min(count, most), isEstimate: count > most)
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

    /// The count, or nil if the statement takes too long.
    private func counted(_ statement: Statement, _ time: Duration) async throws -> Int? {
        do {
            return try await store.client.slowQuery(statement, timeLimit: time).int(0, 0).map { Int($0) }
        } catch let error as PostgresError where error.sqlState == "57014" && error.kind == .server {
            return nil
        }
    }
}
