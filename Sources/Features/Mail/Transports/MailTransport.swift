import Encoding
import Outgoing
import ServerConfiguration

/// What takes mails to their recipients.
protocol MailTransport: Sendable {
    /// Sends a mail.
    ///
    /// - Throws: `MailFailure`; `CancellationError` when the task is cancelled before the mail can have been taken.
    func send(_ message: MailMessage) async throws -> MailReceipt
}

/// What a server said that took a mail.
struct MailReceipt: Sendable {
    /// Its words, for a trial. They may quote the mail.
    var answer: String
}

/// Why a mail was not sent.
package struct MailFailure: Error {
    /// The message for the operator; never what is in the mail.
    var reason: String
    /// Whether the same mail will never be taken.
    var isFinal: Bool
    /// The words of the server, for a trial. They may quote the mail.
    var answer = ""
    /// Whether the mail may have been taken all the same: its end was sent, and nothing was heard.
    var isOpen = false

    static let addressIsNone = MailFailure(
        reason: "invalid recipient address", isFinal: true)
}

enum MailTransports {
    /// What the options name.
    ///
    /// - Parameters:
    ///   - caller: What makes requests of HTTP; needed where the transport does.
    ///   - adapter: Calls an adapter of the app's own; needed where it sends the mails.
    /// - Throws: `ConfigurationError` for bodies of requests that are none.
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
                    "emailAdapter needs Node.js, so its mails can only be tested in the running server. Start "
                        + "roost serve")
            }
            return AdapterTransport(call: adapter)
        }
    }
}

/// Requests to services that take mails.
enum MailRequest {
    /// How long a service may take for one mail.
    static let timeLimit = Duration.seconds(25)

    /// Sends a request, and reads from the answer whether the mail was taken.
    static func send(_ call: HTTPCall, by caller: HTTPCaller) async throws -> MailReceipt {
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
            // What the service cannot do anything with stays what it is; all else is for the operator to mend.
            throw MailFailure(
                reason: "the service responded with \(reply.status)", isFinal: [413, 422].contains(reply.status),
                answer: answer)
        }
        return MailReceipt(answer: answer)
    }
}

/// Shows mails on the terminal, where no server for them is configured.
struct TerminalTransport: MailTransport {
    func send(_ message: MailMessage) async throws -> MailReceipt {
        do {
            try OpenFile.standardOutput.write(Self.shown(message).utf8)
        } catch {
            throw MailFailure(reason: "the mail can't be shown on the terminal", isFinal: false)
        }
        return MailReceipt(answer: "printed")
    }

    /// A mail as the terminal shows it: without control characters, which would change what is shown.
    static func shown(_ message: MailMessage) -> String {
        func line(_ text: String) -> String { MIMEMessage.line(text) }
        let body = message.text.split(separator: "\n", omittingEmptySubsequences: false).map {
            "  | " + line(String($0))
        }
        return """

              A mail, shown because no emailAdapter is configured:
              To:      \(line(message.recipients.joined(separator: ", ")))
              Subject: \(line(message.subject))
            \(body.joined(separator: "\n"))

            """
    }
}
