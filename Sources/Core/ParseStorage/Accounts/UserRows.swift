public import JSON
import ParseModel
import Postgres

/// Access to the account columns of `_User`, and checks of the values that must be unique.
public struct AccountRows: Sendable {
    let store: ObjectStore

    /// A column whose values must be unique even if letter case is ignored.
    public enum UserNameColumn: String, Sendable {
        case username, email
    }

    /// Locks user names and email addresses, in any letter case, against use by others until the transaction ends.
    public func claim(_ names: Set<Name>) async throws {
        if let statement = Self.claiming(names) { _ = try await store.query(statement) }
    }

    /// Returns the statement that locks names in a fixed order, so that concurrent writers don't deadlock. Returns nil
    /// if there are no names.
    static func claiming(_ names: Set<Name>) -> Statement? {
        let names = names.filter { !$0.utf8.contains(0) }
        guard !names.isEmpty else { return nil }
        return Statement(
            """
            SELECT pg_advisory_xact_lock(key) FROM (
                SELECT DISTINCT hashtextextended(roost_fold(name), \(ProcessLock.number(1))) AS key FROM unnest($1::text[]) AS name
                ORDER BY 1) AS keys
            """, [.textArray(names.texts)])
    }

    /// Returns whether another user has this name or address in any letter case. Case folding follows Unicode, because
    /// PostgreSQL's `lower` folds only ASCII if lc_ctype is C.
    ///
    /// - Throws: `ParseError` 107 for a value that a column can't store.
    public func isTaken(_ value: String, as column: UserNameColumn, except objectId: String?) async throws -> Bool {
        let rows = try await store.query(
            """
            SELECT 1 FROM "_User" WHERE roost_fold(\(SQL.identifier(column.rawValue))) = roost_fold($1)
            AND "objectId" <> $2 LIMIT 1
            """, [.text(try ValueText.checked(value)), .text(objectId ?? "")], readOnly: true)
        return rows.rowCount > 0
    }

    /// Returns the ids of users linked to an account at a login provider, at most two.
    ///
    /// - Parameter isForAll: Whether to include users with an empty ACL, who are readable only with master-key rights.
    public func users(of provider: Name, id: String, isForAll: Bool) async throws -> [Name] {
        guard !id.utf8.contains(0) else { return [] }
        let condition = isForAll ? "" : " AND NOT COALESCE(\"_rperm\" = '{}' AND \"_wperm\" = '{}', false)"
        let rows = try await store.query(
            "SELECT \"objectId\" FROM \"_User\" WHERE \"authData\"->\(SQL.literal(provider.text))->>'id' = $1"
                + "\(condition) LIMIT 2", [.text(id)], readOnly: true)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }.map { Name($0) }
    }

    /// Returns a user's `authData`, or an empty object if the user has none or doesn't exist.
    ///
    /// - Parameter locks: Whether to lock the user against changes by other requests until the transaction ends.
    public func authData(of userId: String, locks: Bool = false) async throws -> JSONObject {
        let rows = try await store.query(
            "SELECT \"authData\" FROM \"_User\" WHERE \"objectId\" = $1\(locks ? " FOR NO KEY UPDATE" : "")",
            [.text(userId)], readOnly: !locks)
        guard rows.rowCount > 0 else { return [:] }
        return rows.json(0, 0)?.objectValue ?? [:]
    }

    /// Replaces a user's `authData`.
    ///
    /// - Throws: `ParseError` 208 if another user has one of the providers' ids.
    public func setAuthData(of userId: String, to data: JSONObject) async throws {
        _ = try await store.convertingErrors {
            try await store.query(
                "UPDATE \"_User\" SET \"authData\" = $1 WHERE \"objectId\" = $2",
                [.jsonb(try ValueEncoder.json(.object(data))), .text(userId)])
        }
    }

    /// Locks a device, or a user's session on it, against other requests until the transaction ends.
    ///
    /// - Parameter name: A name derived from the installation id or device token and, for a session, the user id.
    /// - Throws: `ParseError` 107 if the name contains a NUL character.
    public func claim(device name: String) async throws {
        _ = try await store.query(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, \(ProcessLock.number(2))))",
            [.text(try ValueText.checked(name))])
    }
}
