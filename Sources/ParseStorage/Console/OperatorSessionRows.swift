import Postgres

/// A session of the console.
public struct StoredOperatorSession: Sendable {
    /// The id of the operator; nil for one who signed in by a key or a ticket.
    public let operatorId: String?
    /// Who it is, in words.
    public let name: String
    /// What the session may do.
    public let role: String

    /// Names who signed in.
    public init(operatorId: String? = nil, name: String, role: String) {
        self.operatorId = operatorId
        self.name = name
        self.role = role
    }
}

/// Sessions of the console, and tickets that become one. Only hashes of their secrets are kept.
public struct OperatorSessionRows: Sendable {
    let store: ObjectStore

    /// Opens a session, or notes a ticket.
    ///
    /// - Parameters:
    ///   - token: The hash of the token that the page keeps, or of the ticket.
    ///   - cookie: The hash of the cookie; nil for a ticket.
    ///   - seconds: For how long it is valid.
    public func open(
        _ session: StoredOperatorSession, token: [UInt8], cookie: [UInt8]?, seconds: Int, address: String, agent: String
    ) async throws {
        _ = try await store.query(
            Statement(
                """
                WITH over AS (DELETE FROM "_roost_operator_session" WHERE "until" < now())
                INSERT INTO "_roost_operator_session" ("token", "cookie", "operator", "name", "role", "until", "address", "agent")
                VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6), $7, $8)
                """,
                [
                    .bytes(token), cookie.map { .bytes($0) } ?? .null(.bytea),
                    session.operatorId.map { .text($0) } ?? .null(.text), .text(session.name), .text(session.role),
                    .double(Double(seconds)), .text(address), .text(String(agent.prefix(300))),
                ]))
    }

    /// The session of a token and a cookie; nil when one of them is wrong or its time is over.
    ///
    /// - Parameter idle: After how many seconds without a request it ends.
    public func find(token: [UInt8], cookie: [UInt8], idle: Int) async throws -> StoredOperatorSession? {
        let rows: PostgresResult
        do {
            rows = try await find([.bytes(token), .bytes(cookie), .double(Double(idle))])
        } catch let error as PostgresError where ["42P01", "42703"].contains(error.sqlState) {
            // Nobody has signed in yet, or not to this version.
            return nil
        }
        guard rows.rowCount > 0, let name = rows.string(0, 1), let role = rows.string(0, 2) else { return nil }
        if rows.bool(0, 3) == true {
            _ = try await store.query(
                Statement(
                    "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() WHERE \"token\" = $1", [.bytes(token)]))
        }
        return StoredOperatorSession(operatorId: rows.string(0, 0), name: name, role: role)
    }

    private func find(_ parameters: [PostgresParameter]) async throws -> PostgresResult {
        try await store.query(
            """
            SELECT "operator", "name", "role", "usedAt" < now() - interval '30 seconds' FROM "_roost_operator_session"
            WHERE "token" = $1 AND "cookie" = $2 AND "until" > now() AND "usedAt" > now() - make_interval(secs => $3)
            """, parameters)
    }

    /// Takes a ticket, which is gone then.
    ///
    /// - Returns: What it opens; nil for none, and for one whose time is over.
    public func take(ticket: [UInt8]) async throws -> StoredOperatorSession? {
        let rows = try await store.query(
            Statement(
                """
                DELETE FROM "_roost_operator_session" WHERE "token" = $1 AND "cookie" IS NULL
                RETURNING "operator", "name", "role", "until" > now()
                """, [.bytes(ticket)]))
        guard rows.rowCount > 0, rows.bool(0, 3) == true, let name = rows.string(0, 1), let role = rows.string(0, 2)
        else { return nil }
        return StoredOperatorSession(operatorId: rows.string(0, 0), name: name, role: role)
    }

    /// Ends a session.
    public func end(token: [UInt8]) async throws {
        _ = try await store.query(
            Statement("DELETE FROM \"_roost_operator_session\" WHERE \"token\" = $1", [.bytes(token)]))
    }
}
