import Mail
import Outgoing
import ServerConfiguration

/// A mail that is sent to see whether mails are sent.
package struct TestMail {
    private let configuration: Configuration

    /// - Parameter deployment: Whose `emailAdapter` is tried.
    package init(_ deployment: Deployment) { configuration = deployment.configuration }

    /// Sends the mail.
    ///
    /// - Returns: A message: that it was taken, and the words of the server.
    /// - Throws: `ConfigurationError` without an `emailAdapter`; `MailTrial.Refused` when the mail is not taken.
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
