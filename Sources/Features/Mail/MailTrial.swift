import Limits
import Outgoing
package import ServerConfiguration

package enum MailTrial {
    /// Sends a test email immediately, without the queue.
    ///
    /// - Returns: A success message with the mail server's response.
    /// - Throws: `ConfigurationError` without an `emailAdapter` or with one of the app's own, ``CloudMail/Refused`` if no
    ///   mail server accepts the email, or an error if the trusted certificates can't be read.
    package static func send(to address: String, _ configuration: Configuration) async throws -> String {
        guard let delivery = configuration.accountMail.delivery else {
            throw ConfigurationError("emailAdapter is not configured (docs/accounts.md)")
        }
        let appName = configuration.accountMail.appName ?? configuration.appId
        let message = MailMessage(
            sender: delivery.sender, replyTo: delivery.replyTo, recipients: [address],
            subject: MIMEMessage.line("Test email from \(appName)"),
            text: "This is a test. If you can read it, \(appName) can send email.\n",
            values: ["appName": .string(appName), "email": .string(address)])
        let caller = delivery.transport.isHTTP ? try HTTPCaller(configuration.outgoing) : nil
        return try await withCleanup {
            do {
                let answer = try await MailTransports.transport(delivery, configuration.outgoing, caller).send(message)
                return "An email to \(address) was accepted. The server replied: \(answer)"
            } catch let failure as MailFailure {
                throw CloudMail.Refused(
                    description: "the email was not accepted: \(failure.reason)"
                        + (failure.answer.isEmpty ? "" : ". The server replied: \(failure.answer)"))
            }
        } cleanUp: {
            await caller?.shutdown()
        }
    }
}
