import Encoding
public import ParseModel
import Postgres

/// A user whom a mail is for, or a link in one.
public struct MailUser: Sendable {
    /// The user's id.
    public let id: String
    /// The user's name.
    public let username: String
    /// The mail address; nil for none.
    public let email: String?
    /// Whether the address is confirmed.
    public let isVerified: Bool
    /// The token that was asked for, or sent last; nil for none.
    public let token: String?
    /// Until when the token is worth something, in milliseconds since 1970; nil for no end.
    public let tokenExpiry: Int64?

    /// Whether the token had an end, and it has come.
    public func isExpired(at now: ParseDate) -> Bool { tokenExpiry.map { $0 <= now.milliseconds } ?? true }
}

/// The columns of users that links in mails are about. No field of the class shows them.
extension AccountRows {
    /// A token's purpose.
    public enum TokenPurpose: Sendable {
        case verification, passwordReset

        fileprivate var column: String {
            switch self {
            case .verification: "\"_email_verify_token\""
            case .passwordReset: "\"_perishable_token\""
            }
        }

        fileprivate var expiry: String {
            switch self {
            case .verification: "\"_email_verify_token_expires_at\""
            case .passwordReset: "\"_perishable_token_expires_at\""
            }
        }
    }

    /// The user who has a token.
    ///
    /// The database finds the user by a hash of the token, and the token itself is compared in constant time: how long an
    /// answer takes says nothing about how a token begins.
    ///
    /// - Parameter username: The name that the user must have; nil for any.
    /// - Throws: `ParseError` for failures of the database.
    public func user(with token: String, _ purpose: TokenPurpose, username: String? = nil) async throws -> MailUser? {
        guard !token.utf8.contains(0), username?.utf8.contains(0) != true else { return nil }
        let named = username == nil ? "" : " AND \"username\" = $2"
        let user = try await mailUser(
            purpose, where: "hashtextextended(\(purpose.column), 0) = hashtextextended($1, 0)\(named) LIMIT 1",
            [token] + (username.map { [$0] } ?? []))
        return user.flatMap { ConstantTime.areEqual(token, $0.token ?? "") ? $0 : nil }
    }

    /// The user whom a mail to an address is for: the one who has the address, else the one who has it as name and
    /// none as address.
    ///
    /// - Parameter ignoresCase: Whether it counts in any case of its letters. No two users have addresses that differ in
    ///   that alone.
    public func user(withMail address: String, _ purpose: TokenPurpose, ignoresCase: Bool = false) async throws
        -> MailUser?
    {
        guard !address.utf8.contains(0) else { return nil }
        func equals(_ column: String) -> String {
            ignoresCase ? "roost_fold(\"\(column)\") = roost_fold($1)" : "\"\(column)\" = $1"
        }
        return try await mailUser(
            purpose,
            where: "\(equals("email")) OR (\(equals("username")) AND \"email\" IS NULL) "
                + "ORDER BY (\"email\" IS NOT NULL) DESC LIMIT 1", [address])
    }

    /// A user by name or id.
    public func user(named username: String, _ purpose: TokenPurpose) async throws -> MailUser? {
        guard !username.utf8.contains(0) else { return nil }
        return try await mailUser(purpose, where: "\"username\" = $1 LIMIT 1", [username])
    }

    /// A user by id.
    public func mailUser(_ id: String, _ purpose: TokenPurpose) async throws -> MailUser? {
        guard !id.utf8.contains(0) else { return nil }
        return try await mailUser(purpose, where: "\"objectId\" = $1", [id])
    }

    private func mailUser(_ purpose: TokenPurpose, where condition: String, _ values: [String]) async throws
        -> MailUser?
    {
        do {
            let rows = try await store.query(
                "SELECT \"objectId\", \"username\", \"email\", \"emailVerified\", \(purpose.column), "
                    + "\(purpose.expiry) FROM \"_User\" WHERE \(condition)", values.map { .text($0) }, readOnly: true)
            guard rows.rowCount > 0, let id = rows.string(0, 0) else { return nil }
            return MailUser(
                id: id, username: rows.string(0, 1) ?? "", email: rows.string(0, 2),
                isVerified: rows.bool(0, 3) ?? false, token: rows.string(0, 4), tokenExpiry: rows.timestamp(0, 5))
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }

    /// Gives a user a token in place of the one before, as long as the address is the one that the token is sent to.
    ///
    /// - Parameters:
    ///   - expiry: Until when it is worth something; nil for no end.
    ///   - user: The user, as it was when the address was read.
    /// - Returns: Whether it was given: false when the address is another one meanwhile.
    public func setToken(_ token: String, expiry: ParseDate?, of user: MailUser, _ purpose: TokenPurpose) async throws
        -> Bool
    {
        do {
            return try await store.query(
                Statement(
                    "UPDATE \"_User\" SET \(purpose.column) = $1, \(purpose.expiry) = $2 "
                        + "WHERE \"objectId\" = $3 AND \"email\" IS NOT DISTINCT FROM $4",
                    [
                        .text(token), expiry.map { .timestamp(milliseconds: $0.milliseconds) } ?? .null(.timestamptz),
                        .text(user.id), user.email.map { .text($0) } ?? .null(.text),
                    ])
            ).affectedRows > 0
        } catch let error as PostgresError {
            throw store.failure(error)
        }
    }
}
