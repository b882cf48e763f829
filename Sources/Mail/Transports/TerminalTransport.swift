import Foundation

/// Shows mails on the terminal, where no server for them is configured.
struct TerminalTransport: MailTransport {
    func send(_ message: MailMessage) async throws -> MailReceipt {
        FileHandle.standardOutput.write(Data(Self.shown(message).utf8))
        return MailReceipt(answer: "printed")
    }

    /// A mail as the terminal shows it: without control characters, which would change what is seen.
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
