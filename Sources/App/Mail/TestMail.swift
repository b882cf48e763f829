import Mail
import Outgoing
import ServerConfiguration

/// A test mail that shows whether mails can be sent.
package struct TestMail {
    private let configuration: Configuration

    package init(_ deployment: Deployment) { configuration = deployment.configuration }

    /// Sends the mail.
    ///
    /// - Returns: A success message with the mail server's response.
    /// - Throws: `ConfigurationError` without an `emailAdapter`, `MailTrial.Refused` if no mail server accepts the
    ///   mail, or an error if the trusted certificates can't be read.
    package func send(to address: String) async throws -> String {
        guard let delivery = configuration.accountMail.delivery else {
            throw ConfigurationError("emailAdapter is not configured (docs/accounts.md)")
        }
        let caller = delivery.transport.isHTTP ? try HTTPCaller(configuration.outgoing) : nil
        do {
            let answer = try await MailTrial(delivery, configuration, caller: caller).send(to: address)
            await caller?.shutdown()
            return "A mail to \(address) was accepted. The server replied: \(answer)"
        } catch {
            await caller?.shutdown()
            throw error
        }
    }
}
