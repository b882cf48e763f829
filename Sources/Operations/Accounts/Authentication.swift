import JSON
import ParseModel
import ParseStorage
import Postgres
import Rules

extension Backend {
    private static let sessionStatement = """
        SELECT s."objectId", s."user", s."expiresAt", s."updatedAt", u."authData", u."_hashed_password" IS NOT NULL
        FROM "_Session" AS s JOIN "_User" AS u ON u."objectId" = s."user" WHERE s."sessionToken" = $1
        """

    /// A role that was deleted leaves its members behind, and those of its parents; it hands nothing on.
    private static let rolesStatement = """
        WITH RECURSIVE held(id, name) AS (
            SELECT role."objectId", role."name" FROM "_Join:users:_Role" AS member
            JOIN "_Role" AS role ON role."objectId" = member."owningId" WHERE member."relatedId" = $1
            UNION SELECT role."objectId", role."name" FROM held
            JOIN "_Join:roles:_Role" AS child ON child."relatedId" = held.id
            JOIN "_Role" AS role ON role."objectId" = child."owningId")
        SELECT DISTINCT name FROM held WHERE name IS NOT NULL
        """

    /// The user of a session token, with all roles.
    ///
    /// - Throws: 209 when the token is unknown, its user is gone, or its time is over.
    public func sessionUser(token: String, now: ParseDate) async throws -> SessionUser {
        let entry: SessionCache.Entry
        if let known = sessions.find(token, now: now.milliseconds) {
            entry = known
        } else {
            entry = try await loadSession(token, now: now)
        }
        if let expiresAt = entry.expiresAt, expiresAt < now.milliseconds {
            throw ParseError(ParseError.invalidSessionToken, "Session token is expired.")
        }
        await extendIfDue(entry, now: now)
        return entry.user
    }

    private func loadSession(_ token: String, now: ParseDate) async throws -> SessionCache.Entry {
        let invalid = ParseError(ParseError.invalidSessionToken, "Invalid session token")
        guard !token.utf8.contains(0) else { throw invalid }
        let generation = sessions.generation
        do {
            let rows = try await store.query(Self.sessionStatement, [.text(token)], readOnly: true)
            guard rows.rowCount > 0, let sessionId = rows.string(0, 0), let userId = rows.string(0, 1) else {
                throw invalid
            }
            let providers = rows.jsonb(0, 4).flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:]
            let linked = providers.filter { !$0.value.isNull }.map(\.key)
            let entry = SessionCache.Entry(
                user: SessionUser(
                    id: userId, sessionId: sessionId, token: token, roles: try await roles(of: userId),
                    isAnonymous: linked == ["anonymous"] && rows.bool(0, 5) != true),
                expiresAt: rows.timestamp(0, 2), updatedAt: rows.timestamp(0, 3) ?? now.milliseconds,
                loadedAt: now.milliseconds)
            sessions.insert(entry, generation: generation)
            return entry
        } catch let error as PostgresError where error.sqlState == "42P01" {
            // The class of sessions was removed, and all sessions with it.
            throw invalid
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// A user's roles, those inherited included, as `role:<name>`.
    func roles(of userId: String) async throws -> [Name] {
        let rows = try await store.query(Self.rolesStatement, [.text(userId)], readOnly: true)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }.map { Name("role:\($0)") }
    }

    /// With `extendSessionOnUse`, a session that is in the second half of its life gets a new one.
    private func extendIfDue(_ entry: SessionCache.Entry, now: ParseDate) async {
        let length = Int64(configuration.sessionLength) * 1000
        guard configuration.extendSessionOnUse, entry.expiresAt != nil,
            now.milliseconds - entry.updatedAt > length / 2
        else { return }
        do {
            _ = try await store.query(
                "UPDATE \"_Session\" SET \"expiresAt\" = $1, \"updatedAt\" = $2 WHERE \"objectId\" = $3",
                [
                    .timestamp(milliseconds: now.milliseconds + length), .timestamp(milliseconds: now.milliseconds),
                    .text(entry.user.sessionId),
                ])
            sessions.invalidate(user: entry.user.id)
        } catch {
            logger.warning("a session could not be extended", metadata: ["error": "\(error)"])
        }
    }
}
