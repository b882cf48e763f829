import JSON
import ParseStorage
public import ServerConfiguration

/// Sends account emails.
public protocol Mailer: Sendable {
    /// Enqueues an email in the database. If `store` is in a transaction, the email is enqueued with the commit. The
    /// email is sent soon after ``wake()``, independently of the request.
    ///
    /// - Throws: `ParseError` if the database fails. Delivery failures don't throw.
    func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws

    /// Starts sending enqueued emails. Called after the transaction, if any, that enqueued them.
    func wake()

    /// Sends an email immediately, bypassing the queue, without retries.
    ///
    /// - Throws: `ParseError` with the reason if the email was not sent.
    func send(_ mail: AccountMail) async throws

    /// Sets the templates that override the configured ones.
    func use(_ templates: [RuntimeOption: Configuration.MailTemplate])

    /// Returns a template by part and language (`value`), the available `languages`, and the `subject` and `text` of a
    /// email with sample values.
    ///
    /// - Parameter template: The template, or nil for the configured one.
    /// - Throws: `ConfigurationError` for an invalid template.
    func draft(_ kind: AccountMail.Kind, _ template: Configuration.MailTemplate?, language: String)
        throws(ConfigurationError) -> JSONObject
}

extension Mailer {
    public func use(_ templates: [RuntimeOption: Configuration.MailTemplate]) {}
    public func draft(_ kind: AccountMail.Kind, _ template: Configuration.MailTemplate?, language: String) -> JSONObject
    { [:] }
}

/// An account email before its text is composed.
public struct AccountMail: Sendable {
    /// The purpose of an email. Raw values are the names in the mail queue.
    public enum Kind: String, Sendable, CaseIterable {
        case verification = "verificationEmail"
        case passwordReset = "passwordResetEmail"
        /// A notice to the old address that the account's address was changed or removed.
        case emailChanged = "emailChangedEmail"
        /// A notice to a user that the password was reset with a link.
        case passwordChanged = "passwordChangedEmail"
        /// An invitation for a console operator.
        case operatorInvitation = "operatorInvitationEmail"
    }

    public var kind: Kind
    public var recipient: String
    /// The link in the email, or nil for a notice.
    public var link: String?
    /// The token in the link, or nil for emails without a token.
    public var token: String?
    /// The user's name and address, or an operator's name, which the text may contain.
    public var user: JSONObject
    /// The user's id, for templates that use other columns. Empty for an operator's invitation.
    public var userId: String
    /// The request's `Accept-Language` header, or nil if absent.
    public var languages: String?
}
