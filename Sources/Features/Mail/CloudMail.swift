public import JSON
public import Outgoing
public import ServerConfiguration
import Tasks

/// Sends the mails that cloud code writes (`Parse.Cloud.sendEmail`), at once, so that the code gets an error for one
/// that is not taken.
public struct CloudMail: Sendable {
    private let delivery: Configuration.MailDelivery
    private let transport: any MailTransport
    private let writer: MailWriter
    /// The most bytes of a text, and the most recipients.
    private static let longest = 1024 * 1024
    private static let mostRecipients = 100

    /// - Parameter caller: What makes requests of HTTP; needed where mails are sent by them.
    /// - Throws: `ConfigurationError` for bodies of requests that are none.
    public init(_ delivery: Configuration.MailDelivery, _ configuration: Configuration, caller: HTTPCaller?) throws {
        self.delivery = delivery
        transport = try MailTransports.transport(delivery, configuration.outgoing, caller)
        writer = try MailWriter(delivery, configuration)
    }

    /// Leaves half of the threads for mail servers to the mails of accounts, which others would send if they waited long.
    private static let gate = Gate(capacity: max(1, MailQueue.atOnce / 2), mostWaiting: 1000)

    /// Why a mail was not sent.
    public struct Refused: Error, CustomStringConvertible {
        /// The message for the code.
        public let description: String
    }

    /// Sends a mail.
    ///
    /// - Parameter mail: `to` (an address, or several), `from`, `subject`, `text`, `html`, as adapters of parse-server
    ///   take them; or `templateName` with `recipient`, `sender`, `placeholders`, `user`, as its API mail adapter does.
    /// - Throws: `Refused` for what is no mail, and when no server took it.
    public func send(_ mail: JSONObject) async throws {
        let message = try message(mail)
        do {
            _ = try await Self.gate.run { try await transport.send(message) }
        } catch is Gate.Full {
            throw Refused(description: "The mail was not sent: the mail queue is full")
        } catch let failure as MailFailure {
            throw Refused(description: "The mail was not sent: \(failure.reason)")
        }
    }

    private func message(_ mail: JSONObject) throws -> MailMessage {
        func text(_ name: Name) throws -> String? {
            guard let value = mail[name], !value.isNull else { return nil }
            guard let text = value.stringValue, text.utf8.count <= Self.longest else {
                throw Refused(description: "The \(name) of a mail must be a string of at most 1 MB.")
            }
            return text
        }
        let templateName = try text("templateName")
        let recipients: [String] =
            if let list = mail["to"]?.arrayValue { list.compactMap(\.stringValue) } else {
                try (text("to") ?? templateName.flatMap { _ in try text("recipient") ?? userAddress(mail) })
                    .map { [$0] } ?? []
            }
        guard !recipients.isEmpty, recipients.count <= Self.mostRecipients,
            recipients.allSatisfy({ MailAddress($0) != nil })
        else { throw Refused(description: "A mail needs recipients, \(Self.mostRecipients) at most.") }
        let sender = try text("from") ?? templateName.flatMap { _ in try text("sender") } ?? delivery.sender
        guard MailAddress(sender) != nil else { throw Refused(description: "The sender of a mail must be an address.") }
        let written = templateName.flatMap { writer.parts(Name($0), mail) }
        if let templateName, written == nil {
            throw Refused(
                description: "Unknown template \(MIMEMessage.line(String(templateName.prefix(100)))) in "
                    + "emailAdapter.options.templates.")
        }
        let html = try text("html") ?? written?.html
        guard let body = try text("text") ?? written?.text ?? html.map(HTMLText.plain) else {
            throw Refused(description: "A mail needs a text.")
        }
        return MailMessage(
            sender: sender, replyTo: delivery.replyTo, recipients: recipients,
            subject: String(MIMEMessage.line(try text("subject") ?? written?.subject ?? "").prefix(500)), text: body,
            html: html)
    }

    private func userAddress(_ mail: JSONObject) -> String? { mail["user"]?["email"]?.stringValue }
}
