import Encoding
import JSON
import Logging
import ParseModel
import ParseStorage
import Rules
import ServerConfiguration

struct MailRecipient {
    var id: String
    var username: String
    var email: String?

    /// The user's fields that email texts may contain.
    var visibleFields: JSONObject { ["username": .string(username), "email": email.map { .string($0) } ?? .null] }
}

extension MailUser {
    var recipient: MailRecipient { MailRecipient(id: id, username: username, email: email) }
}

/// Sends emails about accounts: links, notices and invitations.
public struct AccountMails: Sendable, BackendPart {
    let backend: Backend

    /// The error if mail is not fully configured. parse-server sends a 500 here, which SDKs retry in vain.
    static let mailsAreMissing = ParseError(
        ParseError.commandUnavailable,
        "An appName, publicServerURL, and emailAdapter are required for password reset and email "
            + "verification functionality.")

    /// Returns the mailer, and the base URL of links in emails.
    ///
    /// - Throws: 108 if mail is not fully configured.
    @discardableResult
    func sender() throws(ParseError) -> (mailer: any Mailer, base: String) {
        guard let mailer = services.mailer, configuration.accountMail.appName != nil,
            let base = configuration.linkURL
        else {
            throw Self.mailsAreMissing
        }
        return (mailer, base)
    }

    func send(
        _ kind: AccountMail.Kind, to address: String, token: String, of user: MailRecipient, _ context: RequestContext
    ) async throws {
        let (mailer, base) = try sender()
        let page = kind == .verification ? "verify_email" : "request_password_reset"
        try await enqueue(
            AccountMail(
                kind: kind, recipient: address,
                link: link(to: page, below: base, token: token, username: user.username),
                token: token, user: user.visibleFields, userId: user.id, languages: context.languages), to: mailer)
    }

    /// Returns the link to a page with a user's token, in parse-server's format. Up to preset 7 it includes the user
    /// name.
    private func link(to page: String, below base: String, token: String, username: String) -> String {
        let path = "/\(configuration.pages.pagesEndpoint)/\(PercentEncoding.encode(configuration.appId))/\(page)"
        let user = configuration.preset < 8 ? "&username=\(PercentEncoding.encode(username))" : ""
        let query = "token=\(PercentEncoding.encode(token))\(user)"
        guard let frame = configuration.customPages.parseFrameURL else { return "\(base)\(path)?\(query)" }
        let separator = frame.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(frame)\(separator)link=\(PercentEncoding.encode(path))&\(query)"
    }

    /// The maximum number of counted links per user within ten minutes.
    private static let maxLinks = 10

    /// Counts a link for a user and returns whether to send it. Too many emails would fill the mailbox and invalidate
    /// earlier links. Callers with the rights of the master or read-only master key aren't limited.
    func allowsLink(to user: MailUser, _ context: RequestContext) -> Bool {
        context.caller.isMaster || services.linkMails.countOneMore(Name(user.id), limit: Self.maxLinks)
    }

    /// Whether users are notified of account changes. Presets below 9 don't notify.
    var sendsNotices: Bool {
        configuration.preset >= 9 && services.mailer != nil && configuration.accountMail.appName != nil
    }

    /// Notifies a user of an account change if notifications are on.
    func notify(_ kind: AccountMail.Kind, at address: String, _ user: MailRecipient, _ context: RequestContext)
        async throws
    {
        guard sendsNotices, let mailer = services.mailer else { return }
        try await enqueue(
            AccountMail(
                kind: kind, recipient: address, user: user.visibleFields, userId: user.id,
                languages: context.languages), to: mailer)
    }

    /// Whether invitations can be emailed. False if emails are only printed to the server's terminal.
    public var sendsInvitations: Bool {
        guard services.mailer != nil, configuration.accountMail.appName != nil,
            let delivery = configuration.accountMail.delivery
        else { return false }
        if case .terminal = delivery.transport { return false }
        return true
    }

    /// Emails an operator the console's sign-in link, bypassing the queue.
    ///
    /// - Throws: `ParseError` with the reason if the email was not sent.
    public func invite(_ name: String, at address: String, link: String, _ context: RequestContext) async throws {
        guard sendsInvitations, let mailer = services.mailer else {
            throw ParseError(ParseError.commandUnavailable, "Can't send emails. Set appName and emailAdapter.")
        }
        try await mailer.send(
            AccountMail(
                kind: .operatorInvitation, recipient: address, link: link, user: ["username": .string(name)],
                userId: "", languages: context.languages))
    }

    /// Returns a new token in parse-server's format.
    static func mailToken() -> String { Identifiers.alphanumeric(25) }

    /// Returns the expiry date of a token with this lifetime, or nil if tokens don't expire.
    static func expiry(after seconds: Double?, _ context: RequestContext) -> ParseDate? {
        seconds.map { ParseDate(milliseconds: context.now.milliseconds + Int64($0 * 1000)) }
    }

    /// Waits until ``levelTime`` has passed since `start`, so that the response time reveals nothing.
    static func level(_ start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + levelTime, clock: .continuous)
    }

    /// The response time for requests that must not reveal whether an address has an account.
    static let levelTime = Duration.milliseconds(60)
    /// The response time if a trigger may reject the link.
    static let levelTimeWithTrigger = Duration.seconds(1)

    /// Runs `body` and returns at `end`, so that the response time doesn't reveal whether an account exists.
    ///
    /// If `body` takes longer, for example in a slow trigger, it continues in the background.
    ///
    /// - Throws: Errors that `body` throws before `end`.
    func answer(at end: ContinuousClock.Instant, _ body: @escaping @Sendable () async throws -> Void) async throws {
        let (outcomes, outcome) = AsyncThrowingStream.makeStream(of: Void.self)
        let wait = Task {
            try await Task.sleep(until: end, clock: .continuous)
            outcome.finish()
        }
        defer { wait.cancel() }
        Task {
            do {
                try await body()
                outcome.finish()
            } catch {
                outcome.finish(throwing: error)
                guard ContinuousClock.now >= end else { return }
                logger.warning("can't send an email with a link", metadata: ["error": "\(error)"])
            }
        }
        for try await _ in outcomes {}
        try await Task.sleep(until: end, clock: .continuous)
    }

    /// Returns the address in a request body.
    ///
    /// - Throws: 204 if it is missing, 125 if it isn't a string.
    static func address(in body: JSONObject) throws(ParseError) -> String {
        guard let value = body["email"], value.isTruthy else {
            throw ParseError(ParseError.emailMissing, "you must provide an email")
        }
        guard let address = value.stringValue else {
            throw ParseError(ParseError.invalidEmailAddress, "you must provide a valid email string")
        }
        return address
    }

    /// Enqueues an email and wakes the mailer. Within a transaction, the mailer is woken after the commit.
    func enqueue(_ mail: AccountMail, to mailer: any Mailer) async throws {
        try await mailer.enqueue(mail, through: store)
        if let deferred = backend.deferred { deferred.addMails() } else { mailer.wake() }
    }
}
