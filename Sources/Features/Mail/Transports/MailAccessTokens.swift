import Encoding
import JSON
import Outgoing
import ServerConfiguration

/// Fetches access tokens from a token endpoint, for signing in to a mail server.
enum MailAccessTokens {
    /// Fetches a token.
    ///
    /// - Throws: `MailFailure` if the endpoint can't be reached or returns no valid token.
    static func fetch(_ refresh: Configuration.TokenRefresh, _ caller: HTTPCaller) async throws -> AccessToken.Fetched {
        var fields = [
            ("grant_type", "refresh_token"), ("refresh_token", refresh.refreshToken), ("client_id", refresh.clientId),
        ]
        if let secret = refresh.clientSecret { fields.append(("client_secret", secret)) }
        let form = fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let call = HTTPCall(
            "POST", refresh.url,
            headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
            body: Array(form.utf8))
        let reply: HTTPReply
        do {
            reply = try await caller.send(call)
        } catch let failure as HTTPCallFailure {
            throw MailFailure(reason: "no access token: \(failure.description)", isFinal: false)
        }
        guard reply.isSuccess, let text = reply.json?["access_token"]?.stringValue, isToken(text) else {
            throw MailFailure(
                reason: "no access token: the token endpoint responded with status \(reply.status)\(code(reply.json))",
                isFinal: false)
        }
        return (text, .now + age(reply.json?["expires_in"]))
    }

    /// Returns whether a text consists of visible ASCII characters only, so that it can't alter the login.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// Returns the error code (RFC 6749, section 5.2) in parentheses, or an empty text if it doesn't look like one.
    private static func code(_ json: JSONValue?) -> String {
        guard let code = json?["error"]?.stringValue, code.utf8.count <= 40,
            code.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_") })
        else { return "" }
        return " (\(code))"
    }

    /// Returns the cache time of a token: a minute less than its lifetime but at least half of it, and less than a day.
    private static func age(_ seconds: JSONValue?) -> Duration {
        let lifetime = seconds?.numberValue ?? seconds?.stringValue.flatMap { Double($0) } ?? 3600
        let good = min(max(lifetime.isFinite ? lifetime : 0, 0), 86_400)
        return .seconds(max(good - 60, good / 2))
    }
}
