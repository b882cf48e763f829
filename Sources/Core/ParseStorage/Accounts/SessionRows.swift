public import JSON
public import ParseModel
import Postgres

/// A session with the properties of its user that requests need.
public struct StoredSession: Sendable {
    /// The session id, empty for the result of ``SessionRows/unopened(userId:)``.
    public let id: String
    public let userId: String
    /// The expiry, in milliseconds since 1970, or nil if the session never expires.
    public let expiresAt: Int64?
    /// The time of the last change, in milliseconds since 1970, or nil if it is unknown.
    public let updatedAt: Int64?
    /// The login providers linked to the user.
    public let providers: [Name]
    public let hasPassword: Bool
}

/// Sessions, and the roles of their users.
public struct SessionRows: Sendable {
    let store: ObjectStore

    private static let sessionStatement = """
        SELECT s."objectId", s."user", s."expiresAt", s."updatedAt", u."authData", u."_hashed_password" IS NOT NULL
        FROM "_Session" AS s JOIN "_User" AS u ON u."objectId" = s."user" WHERE s."sessionToken" = $1
        """

    /// A deleted role leaves rows in the join tables, but they grant no rights, because the role itself is joined
    /// too. Beyond the role limit the user's direct roles come first, oldest first: clients who may create roles can
    /// add any user to them and must not displace older ones. Dropping a role can only take rights away.
    private static let rolesStatement = """
        WITH RECURSIVE held(id, name) AS (
            (SELECT role."objectId", role."name" FROM "_Join:users:_Role" AS member
            JOIN "_Role" AS role ON role."objectId" = member."owningId" WHERE member."relatedId" = $1
            ORDER BY role."createdAt", role."objectId" LIMIT \(HardLimits.roles))
            UNION SELECT role."objectId", role."name" FROM held
            JOIN "_Join:roles:_Role" AS child ON child."relatedId" = held.id
            JOIN "_Role" AS role ON role."objectId" = child."owningId")
        SELECT name FROM held LIMIT \(HardLimits.roles)
        """

    /// Returns the session with this token, or nil if the session, its user or the class `_Session` doesn't exist.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func session(token: String) async throws -> StoredSession? {
        guard !token.utf8.contains(0) else { return nil }
        do {
            let rows = try await store.query(Self.sessionStatement, [.text(token)], readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0), let userId = rows.string(0, 1) else { return nil }
            return StoredSession(
                id: id, userId: userId, expiresAt: rows.timestamp(0, 2), updatedAt: rows.timestamp(0, 3),
                providers: Self.providers(rows, 4), hasPassword: rows.bool(0, 5) == true)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class was removed, and all sessions with it.
            return nil
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Returns a user's properties as a session with an empty id, or nil if the user doesn't exist.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func unopened(userId: String) async throws -> StoredSession? {
        guard !userId.utf8.contains(0) else { return nil }
        return try await store.convertingErrors {
            let rows = try await store.query(
                "SELECT \"objectId\", \"authData\", \"_hashed_password\" IS NOT NULL FROM \"_User\" WHERE \"objectId\" = $1",
                [.text(userId)], readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0) else { return nil }
            return StoredSession(
                id: "", userId: id, expiresAt: nil, updatedAt: nil, providers: Self.providers(rows, 1),
                hasPassword: rows.bool(0, 2) == true)
        }
    }

    private static func providers(_ rows: PostgresResult, _ column: Int) -> [Name] {
        let authData = rows.json(0, column)?.objectValue ?? [:]
        return authData.filter { !$0.value.isNull }.map(\.key)
    }

    /// Returns whether a session exists, and keeps its user's password from being changed until the transaction ends. A
    /// password change, which removes all sessions, can't come between this check and the commit.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func holds(session id: String, of userId: String) async throws -> Bool {
        try await store.convertingErrors {
            _ = try await store.query("SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 FOR SHARE", [.text(userId)])
            return try await store.query("SELECT 1 FROM \"_Session\" WHERE \"objectId\" = $1", [.text(id)]).rowCount > 0
        }
    }

    /// Returns the names of a user's roles, including inherited ones, at most ``HardLimits/roles``.
    ///
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func roleNames(of userId: String) async throws -> [String] {
        do {
            let rows = try await store.query(Self.rolesStatement, [.text(userId)], readOnly: true)
            return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class was removed, and all roles with it.
            return []
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Extends a session, unless it has changed since `date`, for example in another process.
    public func extend(
        _ id: String, until end: ParseDate, now: ParseDate, unlessChangedSince date: ParseDate
    ) async throws {
        _ = try await store.query(
            """
            UPDATE "_Session" SET "expiresAt" = $1, "updatedAt" = $2
            WHERE "objectId" = $3 AND ("updatedAt" IS NULL OR date_trunc('milliseconds', "updatedAt") <= $4)
            """,
            [
                .timestamp(milliseconds: end.milliseconds), .timestamp(milliseconds: now.milliseconds), .text(id),
                .timestamp(milliseconds: date.milliseconds),
            ])
    }

    /// Removes sessions that expired before `end`, 1,000 per statement.
    public func remove(endedBefore end: ParseDate) async throws {
        let statement = Statement(
            """
            DELETE FROM "_Session" WHERE "objectId" = ANY (ARRAY(
                SELECT "objectId" FROM "_Session" WHERE "expiresAt" < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED))
            """, [.timestamp(milliseconds: end.milliseconds)])
        do {
            try await store.client.exclusively { session in
                while try await session.query(statement).affectedRows >= 1000 {}
            }
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class was removed, and all sessions with it.
        }
    }
}
