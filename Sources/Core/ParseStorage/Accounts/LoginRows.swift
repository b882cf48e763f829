public import JSON
public import ParseModel
import Postgres

/// A user as a log-in finds it.
public struct LoginCandidate: Sendable {
    /// The user's id.
    public let id: String
    /// The hash of the password; nil for users without one.
    public let hash: String?
    /// An empty ACL: only the master key reaches this user.
    public let isLockedAway: Bool
    /// Whether the mail address is confirmed.
    public let isVerified: Bool
    /// What login providers know of the user, by provider.
    public let loginData: JSONObject
    /// When the password was set, in milliseconds since 1970, where that is noted.
    public let passwordChangedAt: Int64?
}

/// What a change of a password needs to know of the user.
public struct PasswordRecord: Sendable {
    /// The user's name.
    public let username: String?
    /// The hash of the password that is replaced.
    public let hash: String?
    /// The hashes of earlier passwords, the oldest first.
    public let history: [String]
}

/// The columns of users that passwords are about. No field of the class shows them.
extension AccountRows {
    /// The user whom a log-in means.
    ///
    /// Both given, both must fit; a name alone may also be the mail address, but the user who bears it as name comes
    /// first.
    /// - Parameters:
    ///   - username: The name; empty for none.
    ///   - email: The mail address; empty for none.
    ///   - ignoresCase: Whether names count in any case of their letters; then several users are none.
    /// - Returns: The user; nil when there is none.
    /// - Throws: `ParseError` for failures of the database.
    public func loginCandidate(username: String, email: String, ignoresCase: Bool = false) async throws
        -> LoginCandidate?
    {
        guard !username.utf8.contains(0), !email.utf8.contains(0) else { return nil }
        func equals(_ column: String, _ parameter: String) -> String {
            ignoresCase ? "roost_fold(\"\(column)\") = roost_fold(\(parameter))" : "\"\(column)\" = \(parameter)"
        }
        let condition =
            if email.isEmpty {
                "\(equals("username", "$1")) OR \(equals("email", "$1"))"
            } else if username.isEmpty {
                "\(equals("email", "$2")) AND $1 = ''"
            } else {
                "\(equals("username", "$1")) AND \(equals("email", "$2"))"
            }
        let rows: PostgresResult
        do {
            rows = try await store.query(
                """
                SELECT "objectId", "_hashed_password", "username" = $1, "_rperm", "_wperm", "_password_changed_at",
                    "emailVerified", "authData"
                FROM "_User" WHERE \(condition) ORDER BY 3 DESC NULLS LAST LIMIT \(ignoresCase ? 2 : 1)
                """, email.isEmpty ? [.text(username)] : [.text(username), .text(email)], readOnly: true)
        } catch let error as PostgresError {
            throw store.failure(error)
        }
        guard rows.rowCount == 1, let id = rows.string(0, 0) else { return nil }
        return LoginCandidate(
            id: id, hash: rows.string(0, 1),
            isLockedAway: rows.textArray(0, 3)?.isEmpty == true && rows.textArray(0, 4)?.isEmpty == true,
            isVerified: rows.bool(0, 6) ?? false,
            loginData: rows.jsonb(0, 7).flatMap { try? JSONValue(parsing: $0) }?.objectValue ?? [:],
            passwordChangedAt: rows.timestamp(0, 5))
    }

    /// Whether a user's password still has a hash. A change that is under way is waited for.
    public func hasPassword(_ userId: String, hash: String) async throws -> Bool {
        let rows = try await store.query(
            Statement(
                "SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 AND \"_hashed_password\" = $2 FOR SHARE",
                [.text(userId), .text(hash)]))
        return rows.rowCount > 0
    }

    /// Notes when a user's password was set.
    public func setPasswordDate(of userId: String, to date: ParseDate) async throws {
        _ = try await store.query(
            "UPDATE \"_User\" SET \"_password_changed_at\" = $1 WHERE \"objectId\" = $2",
            [.timestamp(milliseconds: date.milliseconds), .text(userId)])
    }

    /// What is known of a user's passwords; nil when there is no such user.
    public func passwordRecord(of userId: String) async throws -> PasswordRecord? {
        let rows = try await store.query(
            "SELECT \"username\", \"_hashed_password\", \"_password_history\" FROM \"_User\" WHERE \"objectId\" = $1",
            [.text(userId)], readOnly: true)
        guard rows.rowCount > 0 else { return nil }
        let history = rows.jsonb(0, 2).flatMap { try? JSONValue(parsing: $0) }?.arrayValue ?? []
        return PasswordRecord(
            username: rows.string(0, 0), hash: rows.string(0, 1), history: history.compactMap(\.stringValue))
    }
}
