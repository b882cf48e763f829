public import JSON
import Limits
public import Outgoing
public import ServerConfiguration

/// Sends emails for cloud code (`Parse.Cloud.sendEmail`) directly instead of with ``MailQueue``, so that the code gets
/// an error if an email is rejected.
public struct CloudMail: Sendable {
    private let transport: any MailTransport
    private let writer: MailWriter
    /// The maximum size in bytes of a text.
    private static let longest = 1024 * 1024
    private static let maxRecipients = 100

    /// - Parameters:
    ///   - writer: Writes the emails of templates.
    ///   - caller: The HTTP client, or nil to create one if the transport needs it.
    /// - Throws: `ConfigurationError` for invalid request bodies, or for the app's own mail adapter.
    public init(_ configuration: Configuration, _ writer: MailWriter, caller: HTTPCaller?) throws {
        transport = try MailTransports.transport(writer.delivery, configuration.outgoing, caller)
        self.writer = writer
    }

    /// Slots for half of the concurrent transfers. The others remain for account emails, which must not wait long.
    private static let gate = Gate(capacity: max(1, MailQueue.atOnce / 2), maxWaiting: 1000)

    /// The error for an email that was not sent or not confirmed.
    public struct Refused: Error, CustomStringConvertible {
        /// The message for cloud code or, for a test email, the operator.
        public let description: String
    }

    /// Sends an email.
    ///
    /// - Parameter mail: `to` (an address or a list), `from`, `subject`, `text` and `html`, as in parse-server's
    ///   adapters. Alternatively `templateName` with `recipient`, `sender`, `placeholders` and `user`, as in its API
    ///   mail adapter.
    /// - Throws: `Refused` for an invalid email or if no server accepted it.
    public func send(_ mail: JSONObject) async throws {
        let message = try message(mail)
        do {
            _ = try await Self.gate.run { try await transport.send(message) }
        } catch is Gate.Full {
            throw Refused(description: "The email was not sent: the mail queue is full")
        } catch let failure as MailFailure {
            let outcome = failure.isOpen ? "It is unknown whether the email was sent" : "The email was not sent"
            throw Refused(description: "\(outcome): \(failure.reason)")
        }
    }

    private func message(_ mail: JSONObject) throws -> MailMessage {
        func text(_ name: Name) throws -> String? {
            guard let value = mail[name], !value.isNull else { return nil }
            guard let text = value.stringValue, text.utf8.count <= Self.longest else {
                throw Refused(description: "The \(name) of an email must be a string of at most 1 MB.")
            }
            return text
        }
        let templateName = try text("templateName")
        let recipients: [String] =
            if let list = mail["to"]?.arrayValue { list.compactMap(\.stringValue) } else {
                try (text("to") ?? templateName.flatMap { _ in try text("recipient") ?? userAddress(mail) })
                    .map { [$0] } ?? []
            }
        guard !recipients.isEmpty, recipients.count <= Self.maxRecipients,
            recipients.allSatisfy({ MailAddress($0) != nil })
        else { throw Refused(description: "An email needs recipients, \(Self.maxRecipients) at most.") }
        let sender = try text("from") ?? templateName.flatMap { _ in try text("sender") } ?? writer.delivery.sender
        guard MailAddress(sender) != nil else { throw Refused(description: "The sender must be an email address.") }
        let written = templateName.flatMap { writer.parts(Name($0), mail) }
        if let templateName, written == nil {
            throw Refused(
                description: "Unknown template \(MIMEMessage.line(String(templateName.prefix(100)))) in "
                    + "emailAdapter.options.templates.")
        }
        let html = try text("html") ?? written?.html
        guard let body = try text("text") ?? written?.text ?? html.map(HTMLText.plain) else {
            throw Refused(description: "An email needs text or html.")
        }
        return MailMessage(
            sender: sender, replyTo: writer.delivery.replyTo, recipients: recipients,
            subject: String(MIMEMessage.line(try text("subject") ?? written?.subject ?? "").prefix(500)), text: body,
            html: html)
    }

    private func userAddress(_ mail: JSONObject) -> String? { mail["user"]?["email"]?.stringValue }
}
