import Encoding
import Outgoing
import ServerConfiguration

/// Sends emails to their recipients.
protocol MailTransport: Sendable {
    /// Sends an email.
    ///
    /// - Returns: The text of the server's response, for test emails. It may quote the email.
    /// - Throws: `MailFailure`, or `CancellationError` if cancelled before the email may have been accepted.
    func send(_ message: MailMessage) async throws -> String
}

/// The error for an email that was not sent or not confirmed.
package struct MailFailure: Error, CustomStringConvertible {
    /// The message for the operator. It never contains parts of the email.
    var reason: String
    /// Whether retrying is pointless.
    var isFinal: Bool
    /// The server's response, for test emails. It may quote the email.
    var answer = ""
    /// Whether the email may have been accepted anyway, because no response arrived.
    var isOpen = false

    package var description: String { reason }

    static let badAddress = MailFailure(
        reason: "invalid sender or recipient address", isFinal: true)
}

enum MailTransports {
    /// Creates the transport that the options select.
    ///
    /// - Parameters:
    ///   - caller: The HTTP client, or nil to create one if the transport needs it.
    ///   - adapter: Calls the app's own mail adapter. Required if the options select that adapter.
    /// - Throws: `ConfigurationError` for invalid request bodies or a missing adapter.
    static func transport(
        _ delivery: Configuration.MailDelivery, _ settings: Configuration.Outgoing, _ caller: HTTPCaller?,
        adapter: MailAdapterCall? = nil
    )
        throws -> any MailTransport
    {
        func client() throws -> HTTPCaller { try caller ?? HTTPCaller(settings) }
        switch delivery.transport {
        case .smtp(let server):
            return try SMTPTransport(server, trustedCertificates: settings.trustedCertificates, client)
        case .mailgun(let account): return MailgunTransport(account: account, caller: try client())
        case .ses(let account): return SESTransport(account: account, caller: try client())
        case .http(let service): return try HTTPMailTransport(service, try client())
        case .terminal: return TerminalTransport()
        case .node:
            guard let adapter else {
                throw ConfigurationError(
                    "emailAdapter needs Node.js, so its emails can only be tested in the running server. Start "
                        + "roost serve")
            }
            return AdapterTransport(call: adapter)
        }
    }
}

/// Sends requests to mail services.
enum MailRequest {
    /// The time limit per request.
    static let timeLimit = Duration.seconds(25)

    /// Sends a request and determines from the response whether the email was accepted.
    static func send(_ call: HTTPCall, by caller: HTTPCaller) async throws -> String {
        let reply: HTTPReply
        do {
            reply = try await caller.send(call, timeLimit: timeLimit)
        } catch let failure as HTTPCallFailure {
            throw MailFailure(reason: failure.description, isFinal: false, isOpen: true)
        } catch is CancellationError {
            throw MailFailure(reason: "the server stopped before the service responded", isFinal: false, isOpen: true)
        }
        let answer = "HTTP \(reply.status) \(String(decoding: reply.body.prefix(2000), as: UTF8.self))"
        guard reply.isSuccess else {
            // Only for these two statuses would the same email be rejected again. The operator can fix the others.
            throw MailFailure(
                reason: "the service responded with \(reply.status)", isFinal: [413, 422].contains(reply.status),
                answer: answer)
        }
        return answer
    }
}

/// Prints emails to the terminal if no mail server is configured.
struct TerminalTransport: MailTransport {
    func send(_ message: MailMessage) async throws -> String {
        do {
            try OpenFile.standardOutput.write(Self.terminalText(message).utf8)
        } catch {
            throw MailFailure(reason: "the email can't be shown on the terminal", isFinal: false)
        }
        return "printed"
    }

    /// Returns an email as text without control characters, which could manipulate the terminal.
    static func terminalText(_ message: MailMessage) -> String {
        func line(_ text: String) -> String { MIMEMessage.line(text) }
        let body = message.text.split(separator: "\n", omittingEmptySubsequences: false).map {
            "  | " + line(String($0))
        }
        return """

              An email, shown because no emailAdapter is configured:
              To:      \(line(message.recipients.joined(separator: ", ")))
              Subject: \(line(message.subject))
            \(body.joined(separator: "\n"))

            """
    }
}
