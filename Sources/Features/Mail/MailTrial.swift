public import Outgoing
public import ServerConfiguration

/// Sends a test email immediately, without the queue.
public struct MailTrial: Sendable {
    private let delivery: Configuration.MailDelivery
    private let transport: any MailTransport
    private let appName: String

    /// - Parameter caller: The HTTP client, or nil to create one if the transport needs it.
    /// - Throws: `ConfigurationError` for invalid request bodies, or if the app's own adapter sends the emails.
    public init(_ delivery: Configuration.MailDelivery, _ configuration: Configuration, caller: HTTPCaller?) throws {
        self.delivery = delivery
        transport = try MailTransports.transport(delivery, configuration.outgoing, caller)
        appName = configuration.accountMail.appName ?? configuration.appId
    }

    /// Sends a test email.
    ///
    /// - Returns: The response of the mail server.
    /// - Throws: ``CloudMail/Refused`` if no server accepted the email.
    public func send(to address: String) async throws -> String {
        let message = MailMessage(
            sender: delivery.sender, replyTo: delivery.replyTo, recipients: [address],
            subject: MIMEMessage.line("Test email from \(appName)"),
            text: "This is a test. If you can read it, \(appName) can send email.\n",
            values: ["appName": .string(appName), "email": .string(address)])
        do {
            return try await transport.send(message)
        } catch let failure as MailFailure {
            throw CloudMail.Refused(
                description: "the email was not accepted: \(failure.reason)"
                    + (failure.answer.isEmpty ? "" : ". The server replied: \(failure.answer)"))
        }
    }
}
