public import JSON
public import ParseModel
import Postgres

/// A session as its token finds it.
public struct StoredSession: Sendable {
    /// The session's id.
    public let id: String
    /// The user's id.
    public let userId: String
    /// When it ends, in milliseconds since 1970; nil for never.
    public let expiresAt: Int64?
    /// When it was changed last, in milliseconds since 1970.
    public let updatedAt: Int64?
    /// The names of the providers that the user is linked with.
    public let providers: [Name]
    /// Whether the user has a password.
    public let hasPassword: Bool
}

/// Sessions, and the roles that their users hold.
public struct SessionRows: Sendable {
    let store: ObjectStore

    private static let sessionStatement = """
        SELECT s."objectId", s."user", s."expiresAt", s."updatedAt", u."authData", u."_hashed_password" IS NOT NULL
        FROM "_Session" AS s JOIN "_User" AS u ON u."objectId" = s."user" WHERE s."sessionToken" = $1
        """

    /// A deleted role leaves its memberships, and its parents', behind, but passes nothing on. Beyond the role limit,
    /// the user's direct roles come first, oldest first: clients who may create roles can name any user in them, and
    /// must not displace others. A role that does not count gives no right, as if it did not exist.
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

    /// The session of a token.
    ///
    /// - Returns: The session; nil when there is none, its user is gone, or the class of sessions is.
    /// - Throws: `ParseError` for failures of the database.
    public func session(token: String) async throws -> StoredSession? {
        guard !token.utf8.contains(0) else { return nil }
        do {
            let rows = try await store.query(Self.sessionStatement, [.text(token)], readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0), let userId = rows.string(0, 1) else { return nil }
            return StoredSession(
                id: id, userId: userId, expiresAt: rows.timestamp(0, 2), updatedAt: rows.timestamp(0, 3),
                providers: Self.providers(rows, 4), hasPassword: rows.bool(0, 5) == true)
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class of sessions was removed, and all sessions with it.
            return nil
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// What a session of a user would say, for one that has none.
    ///
    /// - Returns: The user, with an empty id of the session; nil when there is no such user.
    /// - Throws: `ParseError` for failures of the database.
    public func unopened(userId: String) async throws -> StoredSession? {
        guard !userId.utf8.contains(0) else { return nil }
        do {
            let rows = try await store.query(
                "SELECT \"objectId\", \"authData\", \"_hashed_password\" IS NOT NULL FROM \"_User\" WHERE \"objectId\" = $1",
                [.text(userId)], readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0) else { return nil }
            return StoredSession(
                id: "", userId: id, expiresAt: nil, updatedAt: nil, providers: Self.providers(rows, 1),
                hasPassword: rows.bool(0, 2) == true)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    private static func providers(_ rows: PostgresResult, _ column: Int) -> [Name] {
        let authData = rows.jsonb(0, column).flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:]
        return authData.filter { !$0.value.isNull }.map(\.key)
    }

    /// Whether a session is there still, and stays for the rest of the transaction that this is part of: who changes the
    /// password of its user, which ends all sessions, comes before or after.
    ///
    /// - Throws: `ParseError` for failures of the database.
    public func holds(session id: String, of userId: String) async throws -> Bool {
        do {
            _ = try await store.query("SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 FOR SHARE", [.text(userId)])
            return try await store.query("SELECT 1 FROM \"_Session\" WHERE \"objectId\" = $1", [.text(id)]).rowCount > 0
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// The names of a user's roles, those inherited included: at most ``HardLimits/roles``.
    ///
    /// - Throws: `ParseError` for failures of the database.
    public func roleNames(of userId: String) async throws -> [String] {
        do {
            let rows = try await store.query(Self.rolesStatement, [.text(userId)], readOnly: true)
            return (0..<rows.rowCount).compactMap { rows.string($0, 0) }
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class of roles was removed, and all roles with it.
            return []
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Gives a session a new end, unless another process was quicker.
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

    /// Removes sessions that have ended, a thousand at a time.
    ///
    /// - Parameter end: Those that ended later stay.
    public func remove(endedBefore end: ParseDate) async throws {
        let statement = Statement(
            """
            DELETE FROM "_Session" WHERE "objectId" IN (
                SELECT "objectId" FROM "_Session" WHERE "expiresAt" < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED)
            """, [.timestamp(milliseconds: end.milliseconds)])
        do {
            try await store.client.exclusively { session in
                while try await session.query(statement).affectedRows >= 1000 {}
            }
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class of sessions was removed, and all sessions with it.
        }
    }
}
