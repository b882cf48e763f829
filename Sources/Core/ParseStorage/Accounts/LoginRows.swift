public import JSON
public import ParseModel
import Postgres

/// The user columns needed for a log-in or a password check.
public struct LoginCandidate: Sendable {
    public let id: String
    /// The password hash, or nil if the user has no password.
    public let hash: String?
    /// Whether the ACL is empty, so that only callers with master-key rights can read this user.
    public let isLockedAway: Bool
    /// Whether the email address is confirmed.
    public let isVerified: Bool
    /// The user's `authData`, by provider.
    public let loginData: JSONObject
    /// The time of the last password change, in milliseconds since 1970, or nil if it wasn't recorded.
    public let passwordChangedAt: Int64?
}

/// The password columns of `_User`. The schema of the class doesn't show them.
extension AccountRows {
    /// Finds the user for a log-in or password check by name, email address or both. Returns nil if no user matches.
    ///
    /// If both are given, both must match. A name alone may also be an email address; a user with that name takes
    /// precedence.
    ///
    /// - Parameters:
    ///   - username: The name or email address. If it is empty, only `email` counts.
    ///   - email: The email address. If it is empty, only `username` counts.
    ///   - ignoresCase: Whether letter case is ignored. If so, no match takes precedence: several return nil.
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
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
        let rows = try await store.convertingErrors {
            try await store.query(
                """
                SELECT "objectId", "_hashed_password", "username" = $1, "_rperm", "_wperm", "_password_changed_at",
                    "emailVerified", "authData"
                FROM "_User" WHERE \(condition) ORDER BY 3 DESC NULLS LAST LIMIT \(ignoresCase ? 2 : 1)
                """, email.isEmpty ? [.text(username)] : [.text(username), .text(email)], readOnly: true)
        }
        guard rows.rowCount == 1, let id = rows.string(0, 0) else { return nil }
        return LoginCandidate(
            id: id, hash: rows.string(0, 1),
            isLockedAway: rows.textArray(0, 3)?.isEmpty == true && rows.textArray(0, 4)?.isEmpty == true,
            isVerified: rows.bool(0, 6) ?? false,
            loginData: rows.json(0, 7)?.objectValue ?? [:],
            passwordChangedAt: rows.timestamp(0, 5))
    }

    /// Returns whether the hash is still the user's password hash. If so, locks the user against changes until the
    /// transaction ends.
    public func hasPassword(_ userId: String, hash: String) async throws -> Bool {
        let rows = try await store.query(
            "SELECT 1 FROM \"_User\" WHERE \"objectId\" = $1 AND \"_hashed_password\" = $2 FOR SHARE",
            [.text(userId), .text(hash)])
        return rows.rowCount > 0
    }

    public func setPasswordDate(of userId: String, to date: ParseDate) async throws {
        _ = try await store.query(
            "UPDATE \"_User\" SET \"_password_changed_at\" = $1 WHERE \"objectId\" = $2",
            [.timestamp(milliseconds: date.milliseconds), .text(userId)])
    }

    /// Returns a user's name, password hash and password history, or nil if the user doesn't exist. The hash is nil if
    /// the user has no password, and the history contains the hashes of earlier passwords, oldest first.
    public func passwordRecord(of userId: String) async throws
        -> (username: String?, hash: String?, history: [String])?
    {
        let rows = try await store.query(
            "SELECT \"username\", \"_hashed_password\", \"_password_history\" FROM \"_User\" WHERE \"objectId\" = $1",
            [.text(userId)], readOnly: true)
        guard rows.rowCount > 0 else { return nil }
        let history = rows.json(0, 2)?.arrayValue ?? []
        return (rows.string(0, 0), rows.string(0, 1), history.compactMap(\.stringValue))
    }
}
