import Postgres

/// Who may use the console.
public struct StoredOperator: Sendable {
    /// The id.
    public let id: String
    /// The name to sign in with.
    public let name: String
    /// What the operator may do: owner, developer, editor or viewer.
    public let role: String
    /// The hash of the password.
    public let hash: String
    /// The secret of the second factor, sealed; nil where there is none.
    public let secret: String?
}

/// Operators of the console, in a table beside the classes that no route of the interface reads.
public struct OperatorRows: Sendable {
    let store: ObjectStore

    /// Whether there is no operator yet.
    public func isEmpty() async throws -> Bool {
        guard try await store.client.hasTable("_roost_operator") else { return true }
        return try await store.query("SELECT EXISTS (SELECT FROM \"_roost_operator\")").bool(0, 0) != true
    }

    /// Returns the operator of a name who may sign in, or nil.
    ///
    /// Earlier versions limited operators to some classes, and the column of those limits may be there: who has some would
    /// see everything now, and is kept out.
    public func find(name: String) async throws -> StoredOperator? {
        try await list(
            "WHERE \"name\" = $1 AND to_jsonb(\"_roost_operator\") ->> 'limits' IS NULL", [.text(name)]
        ).first
    }

    /// All operators, sorted by name.
    public func all() async throws -> [StoredOperator] { try await list("ORDER BY \"name\"", []) }

    private func list(_ condition: String, _ parameters: [PostgresParameter]) async throws -> [StoredOperator] {
        let rows = try await store.query(
            "SELECT \"id\", \"name\", \"role\", \"hash\", \"secret\" FROM \"_roost_operator\" \(condition)",
            parameters)
        return (0..<rows.rowCount).map { row in
            StoredOperator(
                id: rows.string(row, 0) ?? "", name: rows.string(row, 1) ?? "", role: rows.string(row, 2) ?? "",
                hash: rows.string(row, 3) ?? "", secret: rows.string(row, 4))
        }
    }

    /// Adds an operator.
    ///
    /// - Returns: Whether the name was free.
    public func add(id: String, name: String, hash: String, role: String) async throws -> Bool {
        try await store.query(
            Statement(
                """
                INSERT INTO "_roost_operator" ("id", "name", "hash", "role") VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING
                """, [.text(id), .text(name), .text(hash), .text(role)])
        ).affectedRows > 0
    }

    /// Changes the role or the password of an operator, whose sessions end by that.
    ///
    /// - Parameter dropsFactor: Whether the second factor is turned off.
    /// - Returns: Whether there is one with the id.
    public func change(id: String, hash: String?, role: String?, dropsFactor: Bool) async throws -> Bool {
        // A session that begins meanwhile holds the row: it is there for the second statement.
        try await store.group([
            Statement(
                """
                UPDATE "_roost_operator" SET "hash" = coalesce($2, "hash"), "role" = coalesce($3, "role"),
                    "secret" = CASE WHEN $4 THEN NULL ELSE "secret" END WHERE "id" = $1
                """,
                [
                    .text(id), hash.map { .text($0) } ?? .null(.text), role.map { .text($0) } ?? .null(.text),
                    .bool(dropsFactor),
                ]),
            Statement("DELETE FROM \"_roost_operator_session\" WHERE \"operator\" = $1", [.text(id)]),
        ])[0].affectedRows > 0
    }

    /// Sets the sealed secret of the second factor of an operator.
    ///
    /// - Parameters:
    ///   - secret: The secret; nil to turn the factor off.
    ///   - step: That of a code which is spent.
    /// - Returns: Whether there is one with the id.
    public func set(secret: String?, step: Int, of id: String) async throws -> Bool {
        try await store.query(
            Statement(
                "UPDATE \"_roost_operator\" SET \"secret\" = $2, \"step\" = greatest(\"step\", $3) WHERE \"id\" = $1",
                [.text(id), secret.map { .text($0) } ?? .null(.text), .int(Int64(step))])
        ).affectedRows > 0
    }

    /// Spends a code of the second factor, and all that were shown before it.
    ///
    /// - Returns: Whether it was not spent yet.
    public func spend(step: Int, of id: String) async throws -> Bool {
        try await store.query(
            Statement(
                "UPDATE \"_roost_operator\" SET \"step\" = $2 WHERE \"id\" = $1 AND \"step\" < $2",
                [.text(id), .int(Int64(step))])
        ).affectedRows > 0
    }

    /// Removes an operator, with all sessions.
    ///
    /// - Returns: Whether there was one with the id.
    public func remove(id: String) async throws -> Bool {
        try await store.query(Statement("DELETE FROM \"_roost_operator\" WHERE \"id\" = $1", [.text(id)])).affectedRows
            > 0
    }
}
