import Encoding
public import JSON
import Postgres

/// A session of the console.
public struct StoredOperatorSession: Sendable {
    /// The id of the operator; nil for one who signed in by a key or a ticket.
    public let operatorId: String?
    /// Who it is, in words.
    public let name: String
    /// What the session may do.
    public let role: String
    /// Whether the operator has a second factor.
    public let hasFactor: Bool
    /// Whether it was shown lately that the operator is still the one who sits there.
    public let isConfirmed: Bool
    /// The hash of the password by which an operator signs in; nil for other ways.
    public let proof: String?

    /// Names who signed in.
    public init(
        operatorId: String? = nil, name: String, role: String, hasFactor: Bool = false, isConfirmed: Bool = true,
        proof: String? = nil
    ) {
        self.operatorId = operatorId
        self.name = name
        self.role = role
        self.hasFactor = hasFactor
        self.isConfirmed = isConfirmed
        self.proof = proof
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
    /// - Returns: False where the password by which the operator signs in is another one by now.
    @discardableResult
    public func open(
        _ session: StoredOperatorSession, token: [UInt8], cookie: [UInt8]?, seconds: Int, address: String, agent: String
    ) async throws -> Bool {
        // A change of the password that is under way is waited for, and ends sessions that were opened before it.
        let proof =
            session.proof == nil
            ? "SELECT 1 WHERE $9::text IS NULL"
            : "SELECT 1 FROM \"_roost_operator\" WHERE \"id\" = $3 AND \"hash\" = $9 FOR SHARE"
        return try await store.query(
            Statement(
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
                ])
        ).affectedRows > 0
    }

    /// The session of a token and one of the cookies, or nil if one of them is wrong or the session has expired.
    ///
    /// - Parameters:
    ///   - cookies: The hashes of all cookies that the browser sent.
    ///   - idle: The seconds without a request after which a session ends.
    public func find(token: [UInt8], cookies: [[UInt8]], idle: Int) async throws -> StoredOperatorSession? {
        let rows: PostgresResult
        do {
            rows = try await find([.bytes(token), .textArray(cookies.map(\.hexadecimal)), .double(Double(idle))])
        } catch let error as PostgresError where ["42P01", "42703"].contains(error.sqlState) {
            // There was no sign-in yet, or none to this version.
            return nil
        }
        guard rows.rowCount > 0, let name = rows.string(0, 1), let role = rows.string(0, 2) else { return nil }
        if rows.bool(0, 3) == true {
            _ = try await store.query(
                Statement(
                    "UPDATE \"_roost_operator_session\" SET \"usedAt\" = now() WHERE \"token\" = $1", [.bytes(token)]))
        }
        return StoredOperatorSession(
            operatorId: rows.string(0, 0), name: name, role: role, hasFactor: rows.bool(0, 5) == true,
            isConfirmed: rows.bool(0, 4) == true)
    }

    private func find(_ parameters: [PostgresParameter]) async throws -> PostgresResult {
        try await store.query(
            """
            SELECT "operator", "name", coalesce(_operator."role", _session."role"), "usedAt" < now() - interval '30 seconds',
                \(Self.isConfirmed), _operator."secret" IS NOT NULL
            FROM "_roost_operator_session" AS _session LEFT JOIN LATERAL (
                SELECT o."role", o."secret", to_jsonb(o) ->> 'limits' AS "limits"
                FROM "_roost_operator" o WHERE o."id" = "operator") AS _operator
                ON TRUE
            WHERE "token" = $1 AND encode("cookie", 'hex') = ANY($2) AND "until" > now() AND "usedAt" > now() - make_interval(secs => $3)
                AND _operator."limits" IS NULL
            """, parameters)
    }

    /// Returns the hashes of the newest valid tickets in hexadecimal.
    public func tickets() async throws -> Set<String> {
        let rows = try await store.query(
            Statement(
                """
                SELECT encode("token", 'hex') FROM "_roost_operator_session" WHERE "cookie" IS NULL AND "until" > now()
                ORDER BY "until" DESC LIMIT 1000
                """, []))
        return Set((0..<rows.rowCount).compactMap { rows.string($0, 0) })
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

    /// For how many minutes a confirmation is valid.
    public static let confirmation = 15
    private static let isConfirmed = "\"confirmedAt\" > now() - interval '\(confirmation) minutes'"

    /// Notes that the operator of a session has shown to be the same.
    public func confirm(token: [UInt8]) async throws {
        _ = try await store.query(
            Statement(
                "UPDATE \"_roost_operator_session\" SET \"confirmedAt\" = now(), \"deleted\" = 0 WHERE \"token\" = $1",
                [.bytes(token)]))
    }

    /// Counts objects that a session deletes without a confirmation.
    ///
    /// - Returns: Whether they are no more than `most` since the last one.
    public func mayDelete(_ objects: Int, most: Int, token: [UInt8]) async throws -> Bool {
        try await store.query(
            Statement(
                """
                UPDATE "_roost_operator_session" SET "deleted" = "deleted" + $2
                WHERE "token" = $1 AND (\(Self.isConfirmed) OR "deleted" + $2 <= $3)
                """, [.bytes(token), .int(Int64(objects)), .int(Int64(most))])
        ).affectedRows > 0
    }

    /// A session's public id, which only serves to end the session.
    private static let id = "substr(encode(sha256(\"token\"), 'hex'), 1, 32)"
    private static let isOwn = "(\"operator\" IS NOT DISTINCT FROM $1 AND \"name\" = $2)"

    /// Sessions that are valid, the last used first, as JSON.
    ///
    /// - Parameters:
    ///   - own: Whose they are.
    ///   - token: The hash of the token of the session that asks.
    ///   - all: Whether those of others are listed as well.
    ///   - idle: After how many seconds without a request one ends.
    public func list(_ own: StoredOperatorSession, token: [UInt8], all: Bool, idle: Int) async throws -> JSONValue {
        let rows = try await store.query(
            Statement(
                """
                SELECT coalesce(jsonb_agg(jsonb_build_object('id', \(Self.id), 'operator', "name", 'role', "role",
                    'createdAt', \(Self.iso("createdAt")), 'usedAt', \(Self.iso("usedAt")), 'until', \(Self.iso("until")),
                    'address', "address", 'agent', "agent", 'isOwn', \(Self.isOwn), 'isThis', "token" = $3)
                    ORDER BY "usedAt" DESC), '[]')
                FROM (SELECT * FROM "_roost_operator_session" WHERE "cookie" IS NOT NULL AND "until" > now()
                    AND "usedAt" > now() - make_interval(secs => $5) AND ($4 OR \(Self.isOwn))
                    ORDER BY "usedAt" DESC LIMIT 1000) AS found
                """, Self.parameters(of: own) + [.bytes(token), .bool(all), .double(Double(idle))]))
        return rows.jsonb(0, 0).flatMap { try? JSONValue(parsing: $0) } ?? []
    }

    private static func parameters(of session: StoredOperatorSession) -> [PostgresParameter] {
        [session.operatorId.map { .text($0) } ?? .null(.text), .text(session.name)]
    }

    private static func iso(_ column: String) -> String {
        "to_char(\"\(column)\" AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
    }

    /// Ends a session by its id.
    ///
    /// - Parameters:
    ///   - own: Who ends it.
    ///   - all: Whether it may be another's.
    /// - Returns: Whether there was such a session.
    public func end(id: String, _ own: StoredOperatorSession, all: Bool) async throws -> Bool {
        try await store.query(
            Statement(
                """
                DELETE FROM "_roost_operator_session"
                WHERE "cookie" IS NOT NULL AND \(Self.id) = $3 AND ($4 OR \(Self.isOwn))
                """, Self.parameters(of: own) + [.text(id), .bool(all)])
        ).affectedRows > 0
    }

    /// Ends a session.
    public func end(token: [UInt8]) async throws {
        _ = try await store.query(
            Statement("DELETE FROM \"_roost_operator_session\" WHERE \"token\" = $1", [.bytes(token)]))
    }
}
