import JSON
import OrderedCollections
import ParseModel
import Postgres

/// Many rows of one class at once, as imports bring them.
public struct ImportRows: Sendable {
    let store: ObjectStore

    /// A write to one row.
    public enum RowWrite: Sendable {
        /// A row that is new.
        case insert(objectId: String, ObjectWrite)
        /// A row that is there.
        case update(objectId: String, ObjectWrite)
    }

    /// Those of some ids that objects of a class have.
    ///
    /// - Throws: `ParseError`.
    public func existing(_ ids: [String], of className: String) async throws -> Set<Name> {
        try await store.retryingStaleSchema {
            guard store.catalog.schema(className) != nil, !ids.isEmpty else { return [] }
            let rows = try await store.query(
                "SELECT \"objectId\" FROM \(SQLBuilder.quote(className)) WHERE \"objectId\" = ANY($1)",
                [.textArray(ids)])
            return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) }.names)
        }
    }

    /// Writes rows in their order and in one round trip, all or none.
    ///
    /// - Returns: For each row whether it was written; an update of an object that is not there writes nothing.
    /// - Throws: `ParseError`, and nothing was written.
    public func write(_ rows: [RowWrite], to className: String) async throws -> [Bool] {
        try await store.retryingStaleSchema {
            guard let schema = store.catalog.schema(className) else { throw ParseError.notFound }
            var statements: [Statement] = []
            // New rows that nothing stands between go together; an update may be of one before it.
            var inserts: [InsertRow] = []
            /// The place of each update's statement.
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

    /// Puts objects into a relation of their owners, which stay as they are otherwise.
    ///
    /// - Returns: For each pair whether its owner exists; nothing is done for one that does not.
    /// - Throws: `ParseError`, and nothing was written.
    public func relate(_ pairs: [(owner: String, related: String)], by field: String, of className: String) async throws
        -> [Bool]
    {
        try await store.retryingStaleSchema {
            let join = SQLBuilder.quote(TableLayout.joinTable(field: field, className: className))
            let owned = try await store.query(
                """
                WITH _pair AS (SELECT * FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS p(owner, related, place)),
                _owned AS (
                    SELECT _pair.* FROM _pair JOIN \(SQLBuilder.quote(className)) AS _object
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

    /// What no schema lists of users: the hashes of their passwords, and tokens.
    ///
    /// - Returns: By the users' ids, the columns that have a value.
    /// - Throws: `ParseError`.
    public func internalUserFields(of ids: [String]) async throws -> [Name: JSONObject] {
        let fields = SystemClass.internalUserFields
        let columns = fields.keys.texts.map(SQLBuilder.quote).joined(separator: ", ")
        let rows: PostgresResult
        do {
            rows = try await store.query(
                "SELECT \"objectId\", \(columns) FROM \"_User\" WHERE \"objectId\" = ANY($1)", [.textArray(ids)],
                readOnly: true)
        } catch let error as PostgresError {
            throw store.failure(error)
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
                    case .array: rows.jsonb(row, index + 1).flatMap { try? JSONValue(parsing: $0) }
                    default: rows.string(row, index + 1).map { .string($0) }
                    }
            }
            users[id] = values
        }
        return users
    }
}
