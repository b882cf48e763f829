import Encoding
import JSON
import Outgoing
import ParseModel
import ServerConfiguration

/// Sends text messages with a request to the operator's service. `{{mobile}}` and `{{token}}` in the request stand for
/// the number and the code.
struct MessageSender: Sendable {
    private let url: String
    private let headers: [(name: String, value: String)]
    private let body: String
    private let isForm: Bool

    /// Parses the option `auth.mfa.sendSMS`.
    ///
    /// - Throws: `ConfigurationError` with the name of the invalid option.
    init(_ json: JSONValue) throws(ConfigurationError) {
        guard let object = json.objectValue, let url = object["url"]?.stringValue,
            url.hasPrefix("https://") || url.hasPrefix("http://"), let body = object["body"]?.stringValue
        else {
            throw ConfigurationError(
                "mfa.sendSMS must be an object with an http or https url, a body and optional headers. In url and body, "
                    + "{{mobile}} and {{token}} stand for the number and the code")
        }
        if let key = object.keys.first(where: { !["url", "headers", "body"].contains($0) }) {
            throw ConfigurationError("error: unknown option mfa.sendSMS.\(key)")
        }
        self.url = url
        self.body = body
        var headers: [(name: String, value: String)] = []
        for (name, value) in object["headers"]?.objectValue ?? [:] {
            guard let text = value.stringValue else {
                throw ConfigurationError("option mfa.sendSMS.headers.\(name) must be a string")
            }
            headers.append((name.text, text))
        }
        self.headers = headers
        let type = headers.first { $0.name.lowercased() == "content-type" }?.value
        isForm = type?.hasPrefix("application/x-www-form-urlencoded") ?? false
    }

    /// Sends a code.
    ///
    /// - Throws: `ParseError` 141 if the service doesn't accept it.
    func send(_ token: String, to mobile: String, with caller: HTTPCaller) async throws {
        var headers = headers
        if !headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            headers.append(("Content-Type", "application/json"))
        }
        let text = Self.filled(body, token, mobile) { isForm ? PercentEncoding.encode($0) : Self.escaped($0) }
        let call = HTTPCall(
            "POST", Self.filled(url, token, mobile) { PercentEncoding.encode($0) }, headers: headers,
            body: Array(text.utf8))
        let reply: HTTPReply
        do {
            reply = try await caller.send(call)
        } catch let failure as HTTPCallFailure {
            throw SecondFactor.refused("The token could not be sent: \(failure.description)")
        }
        guard reply.isSuccess else {
            throw SecondFactor.refused("The token could not be sent: the service responded with \(reply.status)")
        }
    }

    private static func filled(_ template: String, _ token: String, _ mobile: String, _ escape: (String) -> String)
        -> String
    {
        template.replacing("{{token}}", with: escape(token)).replacing("{{mobile}}", with: escape(mobile))
    }

    private static func escaped(_ text: String) -> String { String(JSONValue.string(text).text.dropFirst().dropLast()) }
}
