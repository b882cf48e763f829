import JSON
import ParseStorage

/// Sends account mails.
public protocol Mailer: Sendable {
    /// Enqueues a mail in the database. If `store` is in a transaction, the mail is enqueued with the commit. The mail
    /// is sent soon after ``wake()``, independently of the request.
    ///
    /// - Throws: `ParseError` if the database fails. Delivery failures don't throw.
    func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws

    /// Starts sending enqueued mails. Called after the transaction.
    func wake()

    /// Sends a mail immediately, bypassing the queue, without retries.
    ///
    /// - Throws: `ParseError` with the reason if the mail was not sent.
    func send(_ mail: AccountMail) async throws
}

/// An account mail before its text is composed.
public struct AccountMail: Sendable {
    /// The purpose of a mail. Raw values are the names in the mail queue.
    public enum Kind: String, Sendable, CaseIterable {
        case verification = "verificationEmail"
        case passwordReset = "passwordResetEmail"
        /// A notice to the old address that the account's address was changed or removed.
        case emailChanged = "emailChangedEmail"
        /// A notice to a user that the password was reset with a link.
        case passwordChanged = "passwordChangedEmail"
        /// An invitation for a new console operator.
        case operatorInvitation = "operatorInvitationEmail"
    }

    public var kind: Kind
    public var recipient: String
    /// The link in the mail, or nil for a notice.
    public var link: String?
    /// The token in the link, or nil for mails without a token.
    public var token: String?
    /// The user's name and address, which the text may contain.
    public var user: JSONObject
    /// The user's id, for templates that use other columns. Empty for an operator's invitation.
    public var userId: String
    /// The request's `Accept-Language` header, or nil if absent.
    public var languages: String?
}
