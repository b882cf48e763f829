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

    /// What texts may quote.
    var shown: JSONObject { ["username": .string(username), "email": email.map { .string($0) } ?? .null] }
}

extension MailUser {
    var recipient: MailRecipient { MailRecipient(id: id, username: username, email: email) }
}

/// Requests for mails.
public struct AccountMails: Sendable, BackendPart {
    let backend: Backend

    /// The error where mails cannot be sent. parse-server answers 500 here, which makes phones ask again and again.
    static let mailsAreMissing = ParseError(
        ParseError.commandUnavailable,
        "An appName, publicServerURL, and emailAdapter are required for password reset and email "
            + "verification functionality.")

    /// What sends mails, and the links in them; throws 108 where the configuration lacks something for it.
    func sender() throws(ParseError) -> (mailer: any Mailer, links: AccountLinks) {
        guard let mailer = services.mailer, configuration.accountMail.appName != nil,
            let links = AccountLinks(configuration)
        else {
            throw Self.mailsAreMissing
        }
        return (mailer, links)
    }

    func send(
        _ kind: AccountMail.Kind, to address: String, token: String, of user: MailRecipient, _ context: RequestContext
    ) async throws {
        let (mailer, links) = try sender()
        let page = kind == .verification ? "verify_email" : "request_password_reset"
        try await enqueue(
            AccountMail(
                kind, to: address, link: links.link(to: page, token: token, username: user.username), token: token,
                user: user.shown, userId: user.id, languages: context.languages), to: mailer)
    }

    /// Mails with links that anybody can have sent to a user within ten minutes.
    private static let mostLinks = 10

    /// Whether to send a user another link. More mails fill the mailbox and replace the links before them.
    func allowsLink(to user: MailUser, _ context: RequestContext) -> Bool {
        context.caller.isMaster || services.linkMails.countOneMore(Name(user.id), most: Self.mostLinks)
    }

    /// Whether users are notified of what happens to their accounts. Servers before 9 notify none.
    var sendsNotices: Bool {
        configuration.preset >= 9 && services.mailer != nil && configuration.accountMail.appName != nil
    }

    /// Notifies a user of what happened to the account, where users are notified.
    func notify(_ kind: AccountMail.Kind, at address: String, _ user: MailRecipient, _ context: RequestContext)
        async throws
    {
        guard sendsNotices, let mailer = services.mailer else { return }
        try await enqueue(
            AccountMail(kind, to: address, user: user.shown, userId: user.id, languages: context.languages), to: mailer)
    }

    /// Whether mails reach operators of the console, rather than the terminal of the server.
    public var sendsInvitations: Bool {
        guard services.mailer != nil, configuration.accountMail.appName != nil,
            let delivery = configuration.accountMail.delivery
        else { return false }
        if case .terminal = delivery.transport { return false }
        return true
    }

    /// Sends an operator the address of the console, without the queue.
    ///
    /// - Parameter link: The address to sign in at.
    /// - Throws: `ParseError` with the reason if the mail was not sent.
    public func invite(_ name: String, at address: String, link: String, _ context: RequestContext) async throws {
        guard sendsInvitations, let mailer = services.mailer else {
            throw ParseError(ParseError.commandUnavailable, "Mails are not set up: set appName and emailAdapter.")
        }
        try await mailer.send(
            AccountMail(
                .operatorInvitation, to: address, link: link, user: ["username": .string(name)], userId: "",
                languages: context.languages))
    }

    /// A new token, as parse-server makes them.
    static func mailToken() -> String { Identifiers.alphanumeric(25) }

    /// The end of a token that lives so many seconds from now; nil for none.
    static func expiry(after seconds: Double?, _ context: RequestContext) -> ParseDate? {
        seconds.map { ParseDate(milliseconds: context.now.milliseconds + Int64($0 * 1000)) }
    }

    /// Waits until so much time has passed since a moment, so that how long an answer takes reveals nothing about what
    /// was found.
    static func level(_ start: ContinuousClock.Instant) async throws {
        try await Task.sleep(until: start + levelTime, clock: .continuous)
    }

    /// How long answers about addresses take that may not reveal whether a user has them.
    static let levelTime = Duration.milliseconds(60)
    /// How long they take where a trigger may refuse the link.
    static let levelTimeWithTrigger = Duration.seconds(1)

    /// Does what is done for an address that a user has, and answers when one without an account would be answered.
    ///
    /// What is not done by then, such as a trigger that takes long, goes on without its caller.
    ///
    /// - Parameter end: When to answer.
    /// - Throws: What `body` throws before.
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
                logger.warning("mail with a link not sent", metadata: ["error": "\(error)"])
            }
        }
        for try await _ in outcomes {}
        try await Task.sleep(until: end, clock: .continuous)
    }

    /// The address that a request for a mail names; throws 204 without one, 125 for what is no text.
    static func address(in body: JSONObject) throws(ParseError) -> String {
        guard let value = body["email"], value.isTruthy else {
            throw ParseError(ParseError.emailMissing, "you must provide an email")
        }
        guard let address = value.stringValue else {
            throw ParseError(ParseError.invalidEmailAddress, "you must provide a valid email string")
        }
        return address
    }

    /// Puts a mail into the queue, whose sender is woken when others can see it.
    func enqueue(_ mail: AccountMail, to mailer: any Mailer) async throws {
        try await mailer.enqueue(mail, through: store)
        if let deferred = backend.deferred { deferred.addMails() } else { mailer.wake() }
    }
}

/// The links in mails, as parse-server makes them: up to preset 7 they name the user as well.
struct AccountLinks {
    private let base: String
    private let path: String
    private let frame: String?
    private let namesUser: Bool

    /// - Returns: nil where the address of the server is not known.
    init?(_ configuration: Configuration) {
        guard let base = configuration.linkURL else { return nil }
        self.base = base
        path = "/\(configuration.pages.pagesEndpoint)/\(PercentEncoding.encode(configuration.appId))"
        frame = configuration.customPages.parseFrameURL
        namesUser = configuration.preset < 8
    }

    /// A link.
    ///
    /// - Parameter page: What it leads to: `verify_email` or `request_password_reset`.
    func link(to page: String, token: String, username: String) -> String {
        let user = namesUser ? "&username=\(PercentEncoding.encode(username))" : ""
        let query = "token=\(PercentEncoding.encode(token))\(user)"
        guard let frame else { return "\(base)\(path)/\(page)?\(query)" }
        let separator = frame.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return "\(frame)\(separator)link=\(PercentEncoding.encode("\(path)/\(page)"))&\(query)"
    }
}
