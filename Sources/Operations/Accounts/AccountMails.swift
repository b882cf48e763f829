import JSON
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

/// The user that a mail is about.
struct MailRecipient {
    /// The user's id.
    var id: String
    var username: String
    var email: String?

    /// What texts may quote.
    var shown: JSONObject { ["username": .string(username), "email": email.map { .string($0) } ?? .null] }
}

extension MailUser {
    /// The user as one that a mail is about.
    var recipient: MailRecipient { MailRecipient(id: id, username: username, email: email) }
}

/// What asks for mails.
extension Backend {
    /// The error where mails cannot be sent. parse-server answers 500 here, which makes phones ask again and again.
    static let mailsAreMissing = ParseError(
        ParseError.commandUnavailable,
        "An appName, publicServerURL, and emailAdapter are required for password reset and email "
            + "verification functionality.")

    /// What sends mails, and the links in them.
    ///
    /// - Throws: 108 where the configuration lacks something for it.
    func mails() throws(ParseError) -> (mailer: any Mailer, links: AccountLinks) {
        guard let mailer, configuration.accountMail.appName != nil, let links = AccountLinks(configuration) else {
            throw Self.mailsAreMissing
        }
        return (mailer, links)
    }

    /// Sends a user a link.
    func send(
        _ kind: AccountMail.Kind, to address: String, token: String, of user: MailRecipient, _ context: RequestContext
    ) async throws {
        let (mailer, links) = try mails()
        let page = kind == .verification ? "verify_email" : "request_password_reset"
        try await mailer.enqueue(
            AccountMail(
                kind, to: address, link: links.link(to: page, token: token, username: user.username), token: token,
                user: user.shown, userId: user.id, languages: context.languages), through: store)
    }

    /// Whether users are told what happens to their accounts. Servers before 9 tell nobody.
    var sendsNotices: Bool {
        configuration.preset >= 9 && mailer != nil && configuration.accountMail.appName != nil
    }

    /// Tells a user what happened to the account, where users are told.
    func notify(_ kind: AccountMail.Kind, at address: String, _ user: MailRecipient, _ context: RequestContext)
        async throws
    {
        guard sendsNotices, let mailer else { return }
        try await mailer.enqueue(
            AccountMail(kind, to: address, user: user.shown, userId: user.id, languages: context.languages),
            through: store)
    }

    /// A new token, as parse-server makes them.
    static func mailToken() -> String { Identifiers.alphanumeric(25) }

    /// The end of a token that lives so many seconds from now; nil for none.
    static func expiry(after seconds: Double?, _ context: RequestContext) -> ParseDate? {
        seconds.map { ParseDate(milliseconds: context.now.milliseconds + Int64($0 * 1000)) }
    }

    /// Waits until so much time has passed since a moment, so that how long an answer takes tells nothing about what was
    /// found.
    static func level(_ start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + .milliseconds(60), clock: .continuous)
    }

    /// The address that a request for a mail names.
    ///
    /// - Throws: 204 without one, 125 for what is no text.
    static func address(in body: JSONObject) throws(ParseError) -> String {
        guard let value = body["email"], value.isTruthy else {
            throw ParseError(ParseError.emailMissing, "you must provide an email")
        }
        guard let address = value.stringValue else {
            throw ParseError(ParseError.invalidEmailAddress, "you must provide a valid email string")
        }
        return address
    }
}
