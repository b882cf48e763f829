import Encoding
import JSON
import Operations
import Outgoing
import Platform
import ServerConfiguration
import Templates

/// Sends emails with a request to an HTTP service. A template describes the request body.
struct HTTPMailTransport: MailTransport {
    private let service: Configuration.HTTPMail
    private let body: HTTPMailBody
    private let bodies: [Name: HTTPMailBody]
    private let caller: HTTPCaller

    /// - Throws: `ConfigurationError` for a body that is an invalid template or produces invalid JSON.
    init(_ service: Configuration.HTTPMail, _ caller: HTTPCaller) throws(ConfigurationError) {
        self.service = service
        self.caller = caller
        let isJSON =
            service.headers.first { $0.name.lowercased() == "content-type" }?.value.lowercased().contains("json")
            ?? true
        body = try HTTPMailBody(service.body, isJSON: isJSON, "emailAdapter.options.body")
        var bodies: [Name: HTTPMailBody] = [:]
        for (name, body) in service.bodies {
            bodies[name] = try HTTPMailBody(body, isJSON: isJSON, "emailAdapter.options.bodies.\(name)")
        }
        self.bodies = bodies
    }

    /// Sends one request per recipient, because the body template has room for only one.
    func send(_ message: MailMessage) async throws -> String {
        for recipient in message.recipients.dropLast() { _ = try await send(message, to: recipient) }
        guard let last = message.recipients.last else { throw MailFailure.badAddress }
        return try await send(message, to: last)
    }

    private func send(_ message: MailMessage, to recipient: String) async throws -> String {
        var message = message
        message.recipients = [recipient]
        guard let values = HTTPMailBody.values(of: message) else { throw MailFailure.badAddress }
        var headers = service.headers
        if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(("Content-Type", "application/json"))
        }
        let text = (bodies[message.name] ?? body).text(values)
        return try await MailRequest.send(
            HTTPCall(service.method, service.url, headers: headers, body: Array(text.utf8)), by: caller)
    }
}

/// The template of a request body.
struct HTTPMailBody: Sendable {
    private indirect enum Part: Sendable {
        case template(TextTemplate)
        case list([Part])
        case object([(Name, Part)])
        case constant(JSONValue)
    }

    private enum Form: Sendable {
        /// A text with placeholders, such as JSON.
        case text(TextTemplate)
        /// JSON with placeholders in its strings.
        case json(Part)
    }

    private let form: Form

    /// - Throws: `ConfigurationError` with the option if the template is invalid or doesn't produce the required JSON.
    init(_ body: Configuration.HTTPMail.Body, isJSON: Bool, _ path: String) throws(ConfigurationError) {
        do {
            switch body {
            case .text(let text): form = .text(try TextTemplate(text, .plain))
            case .json(let json): form = .json(try Self.part(json))
            }
        } catch {
            throw ConfigurationError("option \(path) is not a valid Mustache template")
        }
        guard isJSON else { return }
        let sample = MailMessage(
            sender: "A \"B\" <a@example.com>", replyTo: "a@example.com", recipients: ["b@example.com"],
            subject: "\"quoted\"", text: "one\ntwo \\ \"three\"", html: "<p class=\"x\">")
        guard let values = Self.values(of: sample), (try? JSONValue(parsing: Array(text(values).utf8))) != nil else {
            throw ConfigurationError("option \(path) is not valid JSON after its placeholders are filled in")
        }
    }

    private static func part(_ json: JSONValue) throws(TextTemplate.Malformed) -> Part {
        switch json {
        case .string(let text): return .template(try TextTemplate(text, .plain))
        case .array(let list):
            var parts: [Part] = []
            for element in list { parts.append(try part(element)) }
            return .list(parts)
        case .object(let members):
            var parts: [(Name, Part)] = []
            for (name, member) in members { parts.append((name, try part(member))) }
            return .object(parts)
        default: return .constant(json)
        }
    }

    /// Returns the placeholder values of an email, or nil if the sender or recipient is invalid.
    static func values(of message: MailMessage) -> JSONObject? {
        guard let sender = MailAddress(message.sender), let to = message.recipients.first.flatMap({ MailAddress($0) })
        else { return nil }
        var values = message.values
        values["from"] = .string(sender.text)
        values["fromAddress"] = .string(sender.address)
        values["fromName"] = sender.name.map { .string($0) }
        values["to"] = .string(to.address)
        values["replyTo"] = message.replyTo.flatMap { MailAddress($0) }.map { .string($0.text) }
        values["subject"] = .string(message.subject)
        values["text"] = .string(message.text)
        values["html"] = message.html.map { .string($0) }
        return values
    }

    func text(_ values: JSONObject) -> String {
        switch form {
        case .text(let template):
            return template.render(
                TemplateValues.make(values) { String(JSONValue.string($0).text.dropFirst().dropLast()) })
        case .json(let part):
            return (Self.filled(part, TemplateValues.make(values) { $0 }) ?? [:]).text
        }
    }

    private static func filled(_ part: Part, _ values: [String: any Sendable]) -> JSONValue? {
        switch part {
        case .template(let template):
            let text = template.render(values)
            return text.isEmpty ? nil : .string(text)
        case .list(let parts): return .array(parts.compactMap { filled($0, values) })
        case .object(let members):
            var object: JSONObject = [:]
            for (name, member) in members { object[name] = filled(member, values) }
            return .object(object)
        case .constant(let value): return value
        }
    }
}

enum TemplateValues {
    /// - Parameter escape: Escapes each string.
    static func make(_ object: JSONObject, _ escape: (String) -> String) -> [String: any Sendable] {
        var values: [String: any Sendable] = [:]
        for (name, value) in object { values[name.text] = make(value, escape) }
        return values
    }

    private static func make(_ json: JSONValue, _ escape: (String) -> String) -> (any Sendable)? {
        switch json {
        case .null: nil
        // Nil makes a template section for an empty string disappear.
        case .string(let text): text.isEmpty ? nil : escape(text)
        case .bool(let flag): flag
        case .array(let list): list.compactMap { make($0, escape) }
        case .object(let object): make(object, escape)
        default: json.text
        }
    }
}

/// Sends emails with Mailgun's HTTP API.
struct MailgunTransport: MailTransport {
    let account: Configuration.Mailgun
    let caller: HTTPCaller

    func send(_ message: MailMessage) async throws -> String {
        guard let sender = MailAddress(message.sender) else { throw MailFailure.badAddress }
        let recipients = message.recipients.compactMap { MailAddress($0) }
        guard !recipients.isEmpty, recipients.count == message.recipients.count else { throw MailFailure.badAddress }
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

/// Sends emails with the HTTP API of Amazon SES (version 2) as raw messages.
struct SESTransport: MailTransport {
    let account: Configuration.SES
    let caller: HTTPCaller

    func send(_ message: MailMessage) async throws -> String {
        guard let sender = MailAddress(message.sender),
            let bytes = MIMEMessage.bytes(message, date: Date(), id: Identifiers.hexadecimal(32))
        else { throw MailFailure.badAddress }
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
