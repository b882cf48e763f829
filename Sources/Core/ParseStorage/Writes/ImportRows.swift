import JSON
import OrderedCollections
import ParseModel
import Postgres

/// Bulk reads and writes of one class per call, mainly for imports.
public struct ImportRows: Sendable {
    let store: ObjectStore

    public enum RowWrite: Sendable {
        case insert(objectId: String, ObjectWrite)
        case update(objectId: String, ObjectWrite)
    }

    /// Returns the ids that already exist in the class, or none if the class doesn't exist.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable`.
    public func existing(_ ids: [String], of className: String) async throws -> Set<Name> {
        try await store.retryingStaleSchema {
            guard store.catalog.schema(className) != nil, !ids.isEmpty else { return [] }
            let rows = try await store.query(
                "SELECT \"objectId\" FROM \(SQL.identifier(className)) WHERE \"objectId\" = ANY($1)",
                [.textArray(ids)])
            return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) }.names)
        }
    }

    /// Writes rows in order and in one round trip. On an error, no row is written.
    ///
    /// - Returns: Whether each row was written. Updates of missing objects write nothing.
    /// - Throws: `ParseError` or `ServiceUnavailable`. Nothing was written, unless the call was interrupted.
    public func write(_ rows: [RowWrite], to className: String) async throws -> [Bool] {
        try await store.retryingStaleSchema {
            guard let schema = store.catalog.schema(className) else { throw ParseError.notFound }
            var statements: [Statement] = []
            // Consecutive new rows are combined. An update may change an earlier row, so it ends the run.
            var inserts: [InsertRow] = []
            /// The statement index of each update, by row index.
            var positions: [Int: Int] = [:]
            for (index, row) in rows.enumerated() {
                var compiler = WriteCompiler(schema: schema)
                switch row {
                case .insert(let objectId, let write):
                    inserts.append(try compiler.insertRow(objectId: objectId, write))
                case .update(let objectId, let write):
                    statements += InsertRow.statements(inserts)
                    inserts = []
                    positions[index] = statements.count
                    statements.append(
                        try compiler.update(objectId: objectId, write, condition: "TRUE", returning: []))
                }
            }
            let results = try await store.group(statements + InsertRow.statements(inserts))
            return rows.indices.map { positions[$0].map { results[$0].rowCount > 0 } ?? true }
        }
    }

    /// Adds objects to a relation of their owners without changing the owners.
    ///
    /// - Returns: Whether the owner of each pair exists. Pairs with missing owners are skipped.
    /// - Throws: `ParseError` or `ServiceUnavailable`. Nothing was written, unless the call was interrupted.
    public func relate(_ pairs: [(owner: String, related: String)], by field: String, of className: String) async throws
        -> [Bool]
    {
        try await store.retryingStaleSchema {
            let join = SQL.identifier(TableLayout.joinTable(field: field, className: className))
            let owned = try await store.query(
                """
                WITH _pair AS (SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS p(owner, related, place)),
                _owned AS (
                    SELECT _pair.* FROM _pair JOIN \(SQL.identifier(className)) AS _object
                    ON _object."objectId" = _pair.owner
                ),
                _added AS (
                    INSERT INTO \(join) ("owningId", "relatedId") SELECT DISTINCT owner, related FROM _owned
                    ON CONFLICT DO NOTHING
                )
                SELECT place FROM _owned
                """, [.textArray(pairs.map(\.owner)), .textArray(pairs.map(\.related))])
            var isOwned = [Bool](repeating: false, count: pairs.count)
            for row in 0..<owned.rowCount {
                if let place = owned.int(row, 0) { isOwned[Int(place) - 1] = true }
            }
            return isOwned
        }
    }

    /// Returns the user columns that no schema lists, such as password hashes and tokens.
    ///
    /// - Returns: The columns that have a value, by user id.
    /// - Throws: `ParseError` or `ServiceUnavailable`.
    public func internalUserFields(of ids: [String]) async throws -> [Name: JSONObject] {
        let fields = SystemClass.internalUserFields
        let columns = fields.keys.texts.map(SQL.identifier).joined(separator: ", ")
        let rows = try await store.convertingErrors {
            try await store.query(
                "SELECT \"objectId\", \(columns) FROM \"_User\" WHERE \"objectId\" = ANY($1)", [.textArray(ids)],
                readOnly: true)
        }
        var users: [Name: JSONObject] = [:]
        for row in 0..<rows.rowCount {
            guard let id = rows.string(row, 0) else { continue }
            var values: JSONObject = [:]
            for (index, (name, type)) in fields.enumerated() where !rows.isNull(row, index + 1) {
                values[name] =
                    switch type {
                    case .date: rows.timestamp(row, index + 1).map { ParseDate(milliseconds: $0).json }
                    case .number: rows.double(row, index + 1).map { .number($0) }
                    case .array: rows.json(row, index + 1)
                    default: rows.string(row, index + 1).map { .string($0) }
                    }
            }
            users[id] = values
        }
        return users
    }
}
