import JSON
import ParseStorage

/// What sends mails for accounts.
public protocol Mailer: Sendable {
    /// Takes a mail over. It is sent soon after ``wake()``, outside of the request; until then it lies in the database,
    /// where it is written as part of the transaction that `store` belongs to, if there is one.
    ///
    /// - Throws: `ParseError` for failures of the database; never because a mail cannot be sent.
    func enqueue(_ mail: AccountMail, through store: ObjectStore) async throws

    /// Has what waits sent, when the transaction that put it there is committed.
    func wake()

    /// Sends a mail at once, without the queue and without a second attempt.
    ///
    /// - Throws: `ParseError` with the reason if the mail was not sent.
    func send(_ mail: AccountMail) async throws
}

/// A mail that an account asks for, before it is put into words.
public struct AccountMail: Sendable {
    /// What a mail is for; the raw values are the names under which they wait.
    public enum Kind: String, Sendable, CaseIterable {
        case verification = "verificationEmail"
        case passwordReset = "passwordResetEmail"
        /// To the old address, when an account has another one or none.
        case emailChanged = "emailChangedEmail"
        /// When a password was set by a link.
        case passwordChanged = "passwordChangedEmail"
        /// To a new operator of the console.
        case operatorInvitation = "operatorInvitationEmail"
    }

    /// Its purpose.
    public var kind: Kind
    /// The address that it goes to.
    public var recipient: String
    /// The link in it; nil for a notice.
    public var link: String?
    /// The token in the link; nil for a notice.
    public var token: String?
    /// The name and the address of the user, which texts may quote.
    public var user: JSONObject
    /// The id of the user, by which other columns can be read.
    public var userId: String
    /// What the request says about languages (`Accept-Language`); nil for nothing.
    public var languages: String?

    public init(
        _ kind: Kind, to recipient: String, link: String? = nil, token: String? = nil, user: JSONObject, userId: String,
        languages: String? = nil
    ) {
        self.kind = kind
        self.recipient = recipient
        self.link = link
        self.token = token
        self.user = user
        self.userId = userId
        self.languages = languages
    }
}
