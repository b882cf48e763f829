public import JSON

/// A function that sends an email with the app's own adapter, and throws if the email was not sent.
public typealias MailAdapterCall = @Sendable (JSONObject) async throws -> Void

/// Sends emails with the app's own adapter, which runs in Node.
struct AdapterTransport: MailTransport {
    let call: MailAdapterCall

    func send(_ message: MailMessage) async throws -> String {
        var mail: JSONObject = [
            "to": .string(message.recipients.first ?? ""), "subject": .string(message.subject),
            "text": .string(message.text),
        ]
        mail["html"] = message.html.map { .string($0) }
        var content: JSONObject = ["kind": .string(message.name.text), "mail": .object(mail)]
        content["link"] = message.values["link"]
        content["appName"] = message.values["appName"]
        content["user"] = message.values["user"]
        do {
            try await call(content)
        } catch {
            throw MailFailure(reason: "the adapter failed", isFinal: false, answer: "\(error)")
        }
        return "sent by the adapter"
    }
}
