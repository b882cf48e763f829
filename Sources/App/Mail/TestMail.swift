import Limits
import Mail
import Outgoing
import ServerConfiguration

/// A test email that shows whether emails can be sent.
package enum TestMail {
    /// Sends the email.
    ///
    /// - Returns: A success message with the mail server's response.
    /// - Throws: `ConfigurationError` without an `emailAdapter` or with one of the app's own, `CloudMail.Refused` if no
    ///   mail server accepts the email, or an error if the trusted certificates can't be read.
    package static func send(to address: String, _ deployment: Deployment) async throws -> String {
        let configuration = deployment.configuration
        guard let delivery = configuration.accountMail.delivery else {
            throw ConfigurationError("emailAdapter is not configured (docs/accounts.md)")
        }
        let caller = delivery.transport.isHTTP ? try HTTPCaller(configuration.outgoing) : nil
        let answer = try await withCleanup {
            try await MailTrial(delivery, configuration, caller: caller).send(to: address)
        } cleanUp: {
            await caller?.shutdown()
        }
        return "An email to \(address) was accepted. The server replied: \(answer)"
    }
}
