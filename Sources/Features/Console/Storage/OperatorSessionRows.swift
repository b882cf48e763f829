import Encoding
import JSON
internal import ParseStorage
internal import Postgres

/// A console session.
struct StoredOperatorSession: Sendable {
    /// The operator's id, or nil for a sign-in with a key or ticket.
    var operatorId: String?
    /// The display name.
    let name: String
    /// The role, which determines the session's permissions.
    let role: String
    /// Whether the operator has a second factor.
    var hasFactor = false
    /// Whether the operator has confirmed their identity within the last ``OperatorSessionRows/confirmation`` minutes.
    var isConfirmed = true
    /// The password hash that the sign-in was checked against, or nil for a stored session and for a sign-in with a key
    /// or ticket.
    var proof: String?
}

/// Console sessions and sign-in tickets. Stores only the hashes of their secrets.
struct OperatorSessionRows: Sendable {
    let store: ObjectStore

    /// Opens a session or creates a ticket.
    ///
    /// - Parameters:
    ///   - token: The hash of the page's token or of the ticket.
    ///   - cookie: The hash of the cookie, or nil for a ticket.
    ///   - seconds: The lifetime in seconds.
    /// - Returns: False if the operator was removed or the password has changed since it was checked.
    @discardableResult
    func open(
        _ session: StoredOperatorSession, token: [UInt8], cookie: [UInt8]?, seconds: Int, address: String, agent: String
    ) async throws -> Bool {
        // FOR SHARE waits for a concurrent password change, which ends all earlier sessions.
        let proof =
            session.proof == nil
            ? "SELECT 1 WHERE $9::text IS NULL"
            : "SELECT 1 FROM \"_roost_operator\" WHERE \"id\" = $3 AND \"hash\" = $9 FOR SHARE"
        return try await store.query(
            """
            WITH over AS (DELETE FROM "_roost_operator_session" WHERE "until" < now()),
            proved AS MATERIALIZED (\(proof))
            INSERT INTO "_roost_operator_session" ("token", "cookie", "operator", "name", "role", "until", "address", "agent")
            SELECT $1, $2, $3, $4, $5, now() + make_interval(secs => $6), $7, $8 FROM proved
            """,
            [
                .bytes(token), cookie.map { .bytes($0) } ?? .null(.bytea),
                session.operatorId.map { .text($0) } ?? .null(.text), .text(session.name), .text(session.role),
                .double(Double(seconds)), .text(address),
                .text(String(decoding: agent.utf8.prefix(300), as: UTF8.self)),
                session.proof.map { .text($0) } ?? .null(.text),
            ]
        ).affectedRows > 0
    }

    /// Returns the session with this token and one of the cookies, or nil if either is wrong, the session has expired
    /// or the operator may no longer sign in.
    ///
    /// - Parameters:
    ///   - cookies: The hashes of all cookies that the browser sent.
    ///   - idle: The seconds without a request after which a session ends.
    func find(token: [UInt8], cookies: [[UInt8]], idle: Int) async throws -> StoredOperatorSession? {
        let rows: PostgresResult
        do {
            rows = try await store.query(
                """
                SELECT "operator", "name", coalesce(_operator."role", _session."role"), "usedAt" < now() - interval '30 seconds',
                    \(Self.isConfirmed), _operator."secret" IS NOT NULL
                FROM "_roost_operator_session" AS _session LEFT JOIN LATERAL (
                    SELECT o."role", o."secret", to_jsonb(o) ->> 'limits' AS "limits"
                    FROM "_roost_operator" o WHERE o."id" = "operator") AS _operator
                    ON TRUE
                WHERE "token" = $1 AND encode("cookie", 'hex') = ANY($2) AND "until" > now()
                    AND "usedAt" > now() - make_interval(secs => $3) AND _operator."limits" IS NULL
                """, [.bytes(token), .textArray(cookies.map(\.hexadecimal)), .double(Double(idle))])
        } catch let error as PostgresError where ["42P01", "42703"].contains(error.sqlState) {
            // The tables, or columns of this version, are missing because nobody has signed in to this version yet.
            return nil
        }
        guard rows.rowCount > 0, let name = rows.string(0, 1), let role = rows.string(0, 2) else { return nil }
        if rows.bool(0, 3) == true {
            _ = try await store.query(
                "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() WHERE \"token\" = $1", [.bytes(token)])
        }
        return StoredOperatorSession(
            operatorId: rows.string(0, 0), name: name, role: role, hasFactor: rows.bool(0, 5) == true,
            isConfirmed: rows.bool(0, 4) == true)
    }

    /// Returns the hex-encoded hashes of the valid tickets, limited to the 1,000 that expire last.
    func tickets() async throws -> Set<String> {
        let rows = try await store.query(
            """
            SELECT encode("token", 'hex') FROM "_roost_operator_session" WHERE "cookie" IS NULL AND "until" > now()
            ORDER BY "until" DESC LIMIT 1000
            """, [])
        return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) })
    }

    /// Consumes a ticket. Returns its session, or nil if the ticket is unknown or has expired.
    func consume(ticket: [UInt8]) async throws -> StoredOperatorSession? {
        let rows = try await store.query(
            """
            DELETE FROM "_roost_operator_session" WHERE "token" = $1 AND "cookie" IS NULL
            RETURNING "operator", "name", "role", "until" > now()
            """, [.bytes(ticket)])
        guard rows.rowCount > 0, rows.bool(0, 3) == true, let name = rows.string(0, 1), let role = rows.string(0, 2)
        else { return nil }
        return StoredOperatorSession(operatorId: rows.string(0, 0), name: name, role: role)
    }

    /// The validity of a confirmation, in minutes.
    static let confirmation = 15
    private static let isConfirmed = "\"confirmedAt\" > now() - interval '\(confirmation) minutes'"

    /// Records that the operator has confirmed their identity, and resets the count of deletions.
    func confirm(token: [UInt8]) async throws {
        _ = try await store.query(
            "UPDATE \"_roost_operator_session\" SET \"confirmedAt\" = now(), \"deleted\" = 0 WHERE \"token\" = $1",
            [.bytes(token)])
    }

    /// Counts objects that a session deletes.
    ///
    /// - Returns: False, without counting, if the deletions since the session's last confirmation would exceed `limit`
    ///   and that confirmation has expired. Also false if the session doesn't exist.
    func mayDelete(_ objects: Int, limit: Int, token: [UInt8]) async throws -> Bool {
        try await store.query(
            """
            UPDATE "_roost_operator_session" SET "deleted" = "deleted" + $2
            WHERE "token" = $1 AND (\(Self.isConfirmed) OR "deleted" + $2 <= $3)
            """, [.bytes(token), .int(Int64(objects)), .int(Int64(limit))]
        ).affectedRows > 0
    }

    /// The SQL of a session's public id, which only serves to end the session.
    private static let id = "substr(encode(sha256(\"token\"), 'hex'), 1, 32)"
    private static let isOwn = "(\"operator\" IS NOT DISTINCT FROM $1 AND \"name\" = $2)"

    /// Returns up to 1,000 valid sessions as JSON, most recently used first.
    ///
    /// - Parameters:
    ///   - own: The caller's session.
    ///   - token: The hash of the caller's token.
    ///   - all: Whether to include other operators' sessions.
    ///   - idle: The seconds without a request after which a session ends.
    func list(_ own: StoredOperatorSession, token: [UInt8], all: Bool, idle: Int) async throws -> JSONValue {
        let rows = try await store.query(
            """
            SELECT coalesce(jsonb_agg(jsonb_build_object('id', \(Self.id), 'operator', "name", 'role', "role",
                'createdAt', \(Self.iso("createdAt")), 'usedAt', \(Self.iso("usedAt")), 'until', \(Self.iso("until")),
                'address', "address", 'agent', "agent", 'isOwn', \(Self.isOwn), 'isThis', "token" = $3)
                ORDER BY "usedAt" DESC), '[]')
            FROM (SELECT * FROM "_roost_operator_session" WHERE "cookie" IS NOT NULL AND "until" > now()
                AND "usedAt" > now() - make_interval(secs => $5) AND ($4 OR \(Self.isOwn))
                ORDER BY "usedAt" DESC LIMIT 1000) AS found
            """, Self.parameters(of: own) + [.bytes(token), .bool(all), .double(Double(idle))])
        return rows.json(0, 0) ?? []
    }

    private static func parameters(of session: StoredOperatorSession) -> [PostgresParameter] {
        [session.operatorId.map { .text($0) } ?? .null(.text), .text(session.name)]
    }

    private static func iso(_ column: String) -> String {
        "to_char(\"\(column)\" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    }

    /// Ends a session by its public id.
    ///
    /// - Parameters:
    ///   - own: The caller's session.
    ///   - all: Whether the caller may end other operators' sessions.
    /// - Returns: False if the session doesn't exist or the caller may not end it.
    func end(id: String, _ own: StoredOperatorSession, all: Bool) async throws -> Bool {
        try await store.query(
            """
            DELETE FROM "_roost_operator_session"
            WHERE "cookie" IS NOT NULL AND \(Self.id) = $3 AND ($4 OR \(Self.isOwn))
            """, Self.parameters(of: own) + [.text(id), .bool(all)]
        ).affectedRows > 0
    }

    func end(token: [UInt8]) async throws {
        _ = try await store.query(
            "DELETE FROM \"_roost_operator_session\" WHERE \"token\" = $1", [.bytes(token)])
    }
}
