public import Outgoing
public import ServerConfiguration

/// Sends one mail at once, past the queue, to see whether mails are sent.
public struct MailTrial: Sendable {
    private let delivery: Configuration.MailDelivery
    private let transport: any MailTransport
    private let appName: String

    /// - Parameter caller: What makes requests of HTTP; needed where mails are sent by them.
    /// - Throws: `ConfigurationError` for bodies of requests that are none.
    public init(_ delivery: Configuration.MailDelivery, _ configuration: Configuration, caller: HTTPCaller?) throws {
        self.delivery = delivery
        transport = try MailTransports.transport(delivery, configuration.outgoing, caller)
        appName = configuration.accountMail.appName ?? configuration.appId
    }

    /// Sends a mail.
    ///
    /// - Returns: The words of the server that took it.
    /// - Throws: `Refused` when none did.
    public func send(to address: String) async throws -> String {
        let message = MailMessage(
            sender: delivery.sender, replyTo: delivery.replyTo, recipients: [address],
            subject: MIMEMessage.line("Test mail from \(appName)"),
            text: "This is a test. If you can read it, \(appName) can send mail.\n",
            values: ["appName": .string(appName), "email": .string(address)])
        do {
            return try await transport.send(message).answer
        } catch let failure as MailFailure {
            throw Refused(
                description: "the mail was not accepted: \(failure.reason)"
                    + (failure.answer.isEmpty ? "" : ". The server replied: \(failure.answer)"))
        }
    }

    /// Why a mail was not taken.
    public struct Refused: Error, CustomStringConvertible {
        /// The message for the operator.
        public var description: String
    }
}

extension MailWriter {
    /// A mail with made-up values.
    public struct Sample: Sendable {
        /// The name of the mail.
        public var name: String
        public var locale: String
        public var subject: String
        public var text: String
        /// The HTML of the mail; nil where it has none.
        public var html: String?
    }

    /// All mails in all languages that there are, with made-up values.
    ///
    /// - Throws: `MailFailure`.
    public func samples() throws -> [Sample] {
        try locales.flatMap { locale in
            try names.map { name in
                let message = try sample(name, locale)
                return Sample(
                    name: name, locale: locale, subject: message.subject, text: message.text, html: message.html)
            }
        }
    }
}
