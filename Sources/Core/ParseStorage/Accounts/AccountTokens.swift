import Encoding
public import ParseModel
import Postgres

/// The user columns needed for emails and the links in them.
public struct MailUser: Sendable {
    public let id: String
    public let username: String
    /// The email address, or nil if the user has none.
    public let email: String?
    /// Whether the email address is confirmed.
    public let isVerified: Bool
    /// The current token of the requested purpose, or nil if the user has none.
    public let token: String?
    /// The expiry of the token, in milliseconds since 1970, or nil if it has none.
    public let tokenExpiry: Int64?

    /// Whether the token has expired. A token without an expiry counts as expired, since it was issued while no
    /// validity period was configured.
    public func isExpired(at now: ParseDate) -> Bool { tokenExpiry.map { $0 <= now.milliseconds } ?? true }
}

/// The token columns of `_User` behind the links in emails. The schema of the class doesn't show them.
extension AccountRows {
    /// The purpose of a token, with its column.
    public enum TokenPurpose: String, Sendable {
        case verification = "_email_verify_token"
        case passwordReset = "_perishable_token"

        fileprivate var column: String { "\"\(rawValue)\"" }
        fileprivate var expiry: String { "\"\(rawValue)_expires_at\"" }
    }

    /// Returns the user with this token, or nil if no user has it.
    ///
    /// The index lookup uses a hash of the token, and the token itself is compared in constant time, so response times
    /// don't reveal how a token begins.
    ///
    /// - Parameter username: The required user name, or nil to accept any.
    /// - Throws: `ParseError` or `ServiceUnavailable` if the database fails.
    public func user(with token: String, _ purpose: TokenPurpose, username: String? = nil) async throws -> MailUser? {
        let named = username == nil ? "" : " AND \"username\" = $2"
        let user = try await mailUser(
            purpose, where: "hashtextextended(\(purpose.column), 0) = hashtextextended($1, 0)\(named) LIMIT 1",
            [token] + (username.map { [$0] } ?? []))
        return user.flatMap { ConstantTime.areEqual(token, $0.token ?? "") ? $0 : nil }
    }

    /// Returns the user with this email address or, failing that, the user without an address who has it as the user
    /// name. Returns nil if neither exists.
    ///
    /// - Parameter ignoresCase: Whether letter case is ignored.
    public func user(withMail address: String, _ purpose: TokenPurpose, ignoresCase: Bool = false) async throws
        -> MailUser?
    {
        func equals(_ column: String) -> String {
            ignoresCase ? "roost_fold(\"\(column)\") = roost_fold($1)" : "\"\(column)\" = $1"
        }
        return try await mailUser(
            purpose,
            where: "\(equals("email")) OR (\(equals("username")) AND \"email\" IS NULL) "
                + "ORDER BY (\"email\" IS NOT NULL) DESC LIMIT 1", [address])
    }

    /// Returns the user with this name, or nil if no user has it.
    public func user(named username: String, _ purpose: TokenPurpose) async throws -> MailUser? {
        try await mailUser(purpose, where: "\"username\" = $1 LIMIT 1", [username])
    }

    /// Returns the user with this id, or nil if no user has it.
    public func mailUser(_ id: String, _ purpose: TokenPurpose) async throws -> MailUser? {
        try await mailUser(purpose, where: "\"objectId\" = $1", [id])
    }

    private func mailUser(_ purpose: TokenPurpose, where condition: String, _ values: [String]) async throws
        -> MailUser?
    {
        guard !values.contains(where: { $0.utf8.contains(0) }) else { return nil }
        return try await store.convertingErrors {
            let rows = try await store.query(
                "SELECT \"objectId\", \"username\", \"email\", \"emailVerified\", \(purpose.column), "
                    + "\(purpose.expiry) FROM \"_User\" WHERE \(condition)", values.map { .text($0) }, readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0) else { return nil }
            return MailUser(
                id: id, username: rows.string(0, 1) ?? "", email: rows.string(0, 2),
                isVerified: rows.bool(0, 3) ?? false, token: rows.string(0, 4), tokenExpiry: rows.timestamp(0, 5))
        }
    }

    /// Replaces a user's token, unless the email address has changed since `user` was read.
    ///
    /// - Parameters:
    ///   - expiry: The time at which the token expires, or nil if no validity period is configured.
    ///   - user: The user as read before, with the address to which the token is sent.
    /// - Returns: False if the address has changed or the user no longer exists.
    public func setToken(_ token: String, expiry: ParseDate?, of user: MailUser, _ purpose: TokenPurpose) async throws
        -> Bool
    {
        try await store.convertingErrors {
            try await store.query(
                "UPDATE \"_User\" SET \(purpose.column) = $1, \(purpose.expiry) = $2 "
                    + "WHERE \"objectId\" = $3 AND \"email\" IS NOT DISTINCT FROM $4",
                [
                    .text(token), expiry.map { .timestamp(milliseconds: $0.milliseconds) } ?? .null(.timestamptz),
                    .text(user.id), user.email.map { .text($0) } ?? .null(.text),
                ]
            ).affectedRows > 0
        }
    }
}
