import Foundation
import JSON
import Operations
import Outgoing
import ServerConfiguration

/// Sends mails by the HTTP interface of Amazon SES (version 2), which takes them in the form that travels.
struct SESTransport: MailTransport {
    let account: Configuration.SES
    let caller: HTTPCaller

    func send(_ message: MailMessage) async throws -> MailReceipt {
        guard let sender = MailAddress(message.sender),
            let bytes = MIMEMessage.bytes(message, date: Date(), id: Identifiers.hexadecimal(32))
        else { throw MailFailure.addressIsNone }
        let recipients = message.recipients.compactMap { MailAddress($0)?.address }
        let body: JSONValue = [
            "FromEmailAddress": .string(sender.address),
            "Destination": ["ToAddresses": .array(recipients.map { .string($0) })],
            "Content": ["Raw": ["Data": .string(Data(bytes).base64EncodedString())]],
        ]
        var call = HTTPCall(
            "POST", account.endpoint + "/v2/email/outbound-emails", headers: [("Content-Type", "application/json")],
            body: body.serialized())
        let signature = AWSSignature(
            accessKeyId: account.accessKeyId, secretAccessKey: account.secretAccessKey,
            sessionToken: account.sessionToken, region: account.region, service: "ses")
        call.headers += signature.headers(for: call, at: Date())
        return try await MailRequest.send(call, by: caller)
    }
}
