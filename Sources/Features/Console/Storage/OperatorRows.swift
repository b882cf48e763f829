internal import ParseStorage
internal import Postgres

/// A console operator and their credentials.
struct StoredOperator: Sendable {
    let id: String
    /// The sign-in name.
    let name: String
    /// The role: owner, developer, editor or viewer.
    let role: String
    /// The password hash.
    let hash: String
    /// The encrypted secret of the second factor, or nil if it is disabled.
    let secret: String?
}

/// Console operators, in a table that no API route can read.
struct OperatorRows: Sendable {
    let store: ObjectStore

    func isEmpty() async throws -> Bool {
        guard try await store.client.hasTable("_roost_operator") else { return true }
        return try await store.query("SELECT EXISTS (SELECT FROM \"_roost_operator\")").bool(0, 0) != true
    }

    /// Returns the operator with this name, or nil if no operator may sign in with it.
    ///
    /// Earlier versions could limit operators to some classes. An operator whose row still has such limits can't sign
    /// in, because Roost no longer enforces them.
    func find(name: String) async throws -> StoredOperator? {
        try await list(
            "WHERE \"name\" = $1 AND to_jsonb(\"_roost_operator\") ->> 'limits' IS NULL", [.text(name)]
        ).first
    }

    func all() async throws -> [StoredOperator] { try await list("ORDER BY \"name\"", []) }

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

    /// Adds an operator. Returns false if the name is in use.
    func add(id: String, name: String, hash: String, role: String) async throws -> Bool {
        try await store.query(
            """
            INSERT INTO "_roost_operator" ("id", "name", "hash", "role") VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING
            """, [.text(id), .text(name), .text(hash), .text(role)]
        ).affectedRows > 0
    }

    /// Changes an operator and ends the operator's sessions. A nil `hash` or `role` leaves the current one.
    ///
    /// - Parameter dropsFactor: Whether to disable the second factor.
    /// - Returns: False if the operator doesn't exist.
    func change(id: String, hash: String?, role: String?, dropsFactor: Bool) async throws -> Bool {
        // A session that is being created locks the operator's row, so the second statement sees and ends it.
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

    /// Sets the encrypted secret of an operator's second factor.
    ///
    /// - Parameters:
    ///   - secret: The secret, or nil to disable the factor.
    ///   - step: The time step of the code that was just used. It can't be used again.
    /// - Returns: False if the operator doesn't exist.
    func set(secret: String?, step: Int, of id: String) async throws -> Bool {
        try await store.query(
            "UPDATE \"_roost_operator\" SET \"secret\" = $2, \"step\" = greatest(\"step\", $3) WHERE \"id\" = $1",
            [.text(id), secret.map { .text($0) } ?? .null(.text), .int(Int64(step))]
        ).affectedRows > 0
    }

    /// Consumes a second-factor code and all earlier ones. Returns false if the code was already consumed or the
    /// operator doesn't exist.
    func spend(step: Int, of id: String) async throws -> Bool {
        try await store.query(
            "UPDATE \"_roost_operator\" SET \"step\" = $2 WHERE \"id\" = $1 AND \"step\" < $2",
            [.text(id), .int(Int64(step))]
        ).affectedRows > 0
    }

    /// Removes an operator and the operator's sessions. Returns false if the operator doesn't exist.
    func remove(id: String) async throws -> Bool {
        try await store.query("DELETE FROM \"_roost_operator\" WHERE \"id\" = $1", [.text(id)]).affectedRows
            > 0
    }
}
