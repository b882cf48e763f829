public import JSON
import ParseModel
import Postgres

/// What of users must be theirs alone: names, mail addresses, the ids that providers know them by.
public struct AccountRows: Sendable {
    let store: ObjectStore

    /// A column of users whose values differ in more than the case of their letters.
    public enum UserNameColumn: String, Sendable {
        case username, email
    }

    /// Keeps others from taking names, in any case of their letters, until the transaction ends.
    public func claim(_ names: Set<Name>) async throws {
        for statement in Self.claims(names) { _ = try await store.query(statement) }
    }

    /// The statements that lock names in one order, so that two who write the same names do not wait for each other.
    static func claims(_ names: Set<Name>) -> [Statement] {
        let names = names.filter { !$0.utf8.contains(0) }
        guard !names.isEmpty else { return [] }
        return [
            Statement(
                """
                SELECT pg_advisory_xact_lock(key) FROM (
                    SELECT DISTINCT hashtextextended(roost_fold(name), \(ProcessLock.number(1))) AS key FROM unnest($1::text[]) AS name
                    ORDER BY 1) AS keys
                """, [.textArray(names.texts)])
        ]
    }

    /// Whether another user has a name in any case of its letters, those beyond ASCII included: by Unicode's simple
    /// case folding, which `roost_fold` has of its own, since `lower` knows only ASCII where lc_ctype is C.
    ///
    /// - Throws: `ParseError` 107 for what no column can hold.
    public func isTaken(_ value: String, as column: UserNameColumn, except objectId: String?) async throws -> Bool {
        let rows = try await store.query(
            """
            SELECT 1 FROM "_User" WHERE roost_fold(\(SQL.identifier(column.rawValue))) = roost_fold($1)
            AND "objectId" <> $2 LIMIT 1
            """, [.text(try ValueText.checked(value)), .text(objectId ?? "")], readOnly: true)
        return rows.rowCount > 0
    }

    /// The ids of users whom a provider knows by an id; two at most.
    ///
    /// - Parameter isForAll: Whether users whose ACL admits no caller count.
    public func users(of provider: Name, id: String, isForAll: Bool) async throws -> [Name] {
        guard !id.utf8.contains(0) else { return [] }
        let condition = isForAll ? "" : " AND NOT COALESCE(\"_rperm\" = '{}' AND \"_wperm\" = '{}', false)"
        let rows = try await store.query(
            "SELECT \"objectId\" FROM \"_User\" WHERE \"authData\"->\(SQL.literal(provider.text))->>'id' = $1"
                + "\(condition) LIMIT 2", [.text(id)], readOnly: true)
        return (0..<rows.rowCount).compactMap { rows.string($0, 0) }.map { Name($0) }
    }

    /// What providers said of a user; empty when there is no such user.
    ///
    /// - Parameter locks: Whether no other request changes the user until the transaction ends.
    public func authData(of userId: String, locks: Bool = false) async throws -> JSONObject {
        let rows = try await store.query(
            "SELECT \"authData\" FROM \"_User\" WHERE \"objectId\" = $1\(locks ? " FOR NO KEY UPDATE" : "")",
            [.text(userId)], readOnly: !locks)
        guard rows.rowCount > 0 else { return [:] }
        return rows.jsonb(0, 0).flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:]
    }

    /// Stores what providers said of a user.
    ///
    /// - Throws: `ParseError` 208 when another user has one of the providers' ids.
    public func setAuthData(of userId: String, to data: JSONObject) async throws {
        do {
            _ = try await store.query(
                "UPDATE \"_User\" SET \"authData\" = $1 WHERE \"objectId\" = $2",
                [.jsonb(try ValueEncoder.json(.object(data))), .text(userId)])
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Keeps others from deciding about a device until the transaction ends.
    ///
    /// - Throws: `ParseError` 107 for a name that has a NUL character in it.
    public func claim(device name: String) async throws {
        _ = try await store.query(
            "SELECT pg_advisory_xact_lock(hashtextextended($1, \(ProcessLock.number(2))))",
            [.text(try ValueText.checked(name))])
    }
}
