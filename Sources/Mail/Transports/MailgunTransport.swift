import Encoding
import Foundation
import Outgoing
import ServerConfiguration

/// Sends mails by Mailgun's HTTP interface: a form, with the key as a password.
struct MailgunTransport: MailTransport {
    let account: Configuration.Mailgun
    let caller: HTTPCaller

    func send(_ message: MailMessage) async throws -> MailReceipt {
        guard let sender = MailAddress(message.sender) else { throw MailFailure.addressIsNone }
        let recipients = message.recipients.compactMap { MailAddress($0) }
        guard !recipients.isEmpty, recipients.count == message.recipients.count else { throw MailFailure.addressIsNone }
        var fields = [
            ("from", sender.text), ("to", recipients.map(\.address).joined(separator: ",")),
            ("subject", message.subject), ("text", message.text),
        ]
        if let html = message.html { fields.append(("html", html)) }
        if let replyTo = message.replyTo.flatMap({ MailAddress($0) }) { fields.append(("h:Reply-To", replyTo.text)) }
        let form = fields.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }
        let key = Data("api:\(account.apiKey)".utf8).base64EncodedString()
        return try await MailRequest.send(
            HTTPCall(
                "POST", "https://\(account.host)/v3/\(PercentEncoding.encode(account.domain))/messages",
                headers: [
                    ("Authorization", "Basic \(key)"), ("Content-Type", "application/x-www-form-urlencoded"),
                ], body: Array(form.joined(separator: "&").utf8)), by: caller)
    }
}
