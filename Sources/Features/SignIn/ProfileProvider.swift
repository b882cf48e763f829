import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// A provider that returns the owner of an access token. The client sends a code, which only this app can exchange for
/// a token. If the deployment allows it, the client may send a token instead, which may belong to another app.
struct ProfileProvider: AuthProvider {
    let service: ProfileService
    /// Whether tokens from clients are accepted unless the provider's options say otherwise.
    let isInsecureByDefault: Bool
    /// Whether error texts are those of parse-server before version 8.
    let hasOldTexts: Bool
    let caller: HTTPCaller

    private func acceptsTokens(_ options: JSONObject) -> Bool {
        service.codes == nil || options["enableInsecureAuth"]?.boolValue ?? isInsecureByDefault
    }

    var optionForms: [Name: AuthOptionForm]? {
        ["clientId": .text, "clientSecret": .text, "enableInsecureAuth": .flag]
    }

    func warnings(_ name: Name, _ options: JSONObject) -> [String] {
        guard acceptsTokens(options) else { return [] }
        return [
            "option auth.\(name) takes access tokens from clients, which may be those of other apps: set clientId, "
                + "clientSecret and \"enableInsecureAuth\": false, to take codes"
        ]
    }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false, !acceptsTokens(options) else { return }
        for key: Name in ["clientId", "clientSecret"] where ProviderOptions.text(options[key]) == nil {
            throw ConfigurationError(
                "\(service.title) \(key) is required. Or set auth.\(name).enableInsecureAuth to accept access tokens "
                    + "from clients, which may belong to other apps")
        }
    }

    private var invalid: ParseError {
        TokenCheck.refused("\(hasOldTexts ? service.oldTitle : service.title) auth is invalid for this user.")
    }

    private func failed(_ text: String) -> ParseError { ParseError(ParseError.validationError, text) }

    func exchange(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard let codes = service.codes else { return data }
        guard let code = ProviderOptions.text(data["code"]) else {
            guard acceptsTokens(options) else { throw failed("\(service.title) code is required.") }
            return data
        }
        let token = try await token(codes, code, data, options)
        let id = try await profileId(token, data, ofCode: true)
        if let claimed = data["id"], claimed.isTruthy, !id.hasSameBytes(as: claimed.stringValue) {
            throw TokenCheck.refused("\(service.title) auth is invalid for this user.")
        }
        return ["id": .string(id), "access_token": .string(token)]
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws {
        // A code was already verified when it was exchanged.
        guard acceptsTokens(options) else { return }
        guard let token = ProviderOptions.text(data["access_token"]), let id = ProviderOptions.text(data["id"]) else {
            throw invalid
        }
        guard try await profileId(token, data, ofCode: false).hasSameBytes(as: id) else { throw invalid }
    }

    func visibleData(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        acceptsTokens(options) ? stored : stored.filter { $0.key == "id" }
    }

    /// Returns the user id for an access token.
    ///
    /// - Parameter ofCode: Whether the token was obtained with a code, in which case the client may get error details.
    private func profileId(_ token: String, _ data: JSONObject, ofCode: Bool) async throws -> String {
        let reply: HTTPReply
        do {
            reply = try await caller.send(service.profile(token, data))
        } catch let failure as HTTPCallFailure {
            throw ofCode ? noProfile(failure.description) : invalid
        }
        guard reply.isSuccess else { throw ofCode ? noProfile(reply.reason) : invalid }
        guard let json = reply.json, let id = Self.text(service.id.reduce(json as JSONValue?) { $0?[$1] }) else {
            guard ofCode, service.failures == .detailed else { throw invalid }
            throw failed("Invalid \(service.title) user data received.")
        }
        return id
    }

    private func noProfile(_ reason: String) -> ParseError {
        switch service.failures {
        case .detailed: return failed("Failed to fetch \(service.title) user: \(reason)")
        case .short: return TokenCheck.refused("\(service.title) API request failed.")
        case .ofExchange: return invalid
        }
    }

    private func noToken(_ reason: String) -> ParseError {
        guard service.failures != .short else { return TokenCheck.refused("\(service.title) API request failed.") }
        return failed("Failed to exchange code for token: \(reason)")
    }

    private static func text(_ value: JSONValue?) -> String? {
        switch value {
        case .string(let text)?: text.isEmpty ? nil : text
        // Some services have numeric user ids.
        case .number?: value?.text
        default: nil
        }
    }

    private func token(_ codes: ProfileService.Codes, _ code: String, _ data: JSONObject, _ options: JSONObject)
        async throws -> String
    {
        var fields: [(Name, String)] = [
            ("client_id", ProviderOptions.text(options["clientId"]) ?? ""),
            ("client_secret", ProviderOptions.text(options["clientSecret"]) ?? ""), ("code", code),
        ]
        if codes.hasGrantType { fields.append(("grant_type", "authorization_code")) }
        if let uri = ProviderOptions.text(data["redirect_uri"]) ?? ProviderOptions.text(data["redirectUri"]) {
            fields.append(("redirect_uri", uri))
        }
        if let verifier = ProviderOptions.text(data["code_verifier"]) { fields.append(("code_verifier", verifier)) }
        let body =
            codes.isJSON
            ? JSONValue.object(JSONObject(uniqueKeysWithValues: fields.map { ($0.0, .string($0.1)) })).text
            : fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let call = HTTPCall(
            "POST", codes.url,
            headers: [
                ("Content-Type", codes.isJSON ? "application/json" : "application/x-www-form-urlencoded"),
                ("Accept", "application/json"),
            ], body: Array(body.utf8))
        let reply: HTTPReply
        do {
            reply = try await caller.send(call)
        } catch let failure as HTTPCallFailure {
            throw noToken(failure.description)
        }
        guard reply.isSuccess else { throw noToken(reply.reason) }
        if let token = ProviderOptions.text(reply.json?["access_token"]) { return token }
        // Some services report an invalid code with a success status.
        if let error = ProviderOptions.text(reply.json?["error"]), service.failures != .short {
            let text = ProviderOptions.text(reply.json?["error_description"]) ?? error
            throw TokenCheck.refused(String(text.prefix(200)))
        }
        throw noToken("Invalid response")
    }
}

/// A service that returns the owner of an access token.
struct ProfileService: Sendable {
    /// The settings for exchanging a code for a token.
    struct Codes: Sendable {
        var url: String
        /// Whether the request is sent as JSON instead of a form.
        var isJSON = false
        /// Whether the request includes `grant_type`.
        var hasGrantType = true
    }

    /// The error texts for clients if signing in with a code fails.
    enum Failures: Sendable {
        /// Names the failed request and the reason.
        case detailed
        /// Only states that a request failed.
        case short
        /// Contains the reason if exchanging the code failed. Otherwise states that the login data is invalid.
        case ofExchange
    }

    /// The name of the service in error texts.
    var title: String
    /// The name in error texts before parse-server 8.
    var oldTitle: String
    /// The path of the user id in the profile.
    var id: [Name] = ["id"]
    var failures = Failures.short
    /// The code exchange, or nil if the service has none.
    var codes: Codes?
    /// The function that returns the profile request for a token and the client's login data.
    var profile: @Sendable (String, JSONObject) -> HTTPCall

    private static func bearer(_ url: String, _ more: [(name: String, value: String)] = [], scheme: String = "Bearer")
        -> @Sendable (String, JSONObject) -> HTTPCall
    {
        { token, _ in HTTPCall("GET", url, headers: [("Authorization", "\(scheme) \(token)")] + more) }
    }

    static let all: [Name: ProfileService] = [
        "github": ProfileService(
            title: "GitHub", oldTitle: "Github", failures: .detailed,
            codes: Codes(url: "https://github.com/login/oauth/access_token", isJSON: true, hasGrantType: false),
            profile: bearer("https://api.github.com/user", [("User-Agent", "parse-server")], scheme: "bearer")),
        "linkedin": ProfileService(
            title: "LinkedIn", oldTitle: "Linkedin",
            codes: Codes(url: "https://www.linkedin.com/oauth/v2/accessToken"),
            profile: { token, data in
                let isMobile = data["is_mobile_sdk"] == true || data["is_mobile_sdk"] == "true"
                return HTTPCall(
                    "GET", "https://api.linkedin.com/v2/me",
                    headers: [("Authorization", "Bearer \(token)"), ("x-li-format", "json")]
                        + (isMobile ? [("x-li-src", "msdk")] : []))
            }),
        "microsoft": ProfileService(
            title: "Microsoft", oldTitle: "Microsoft Graph",
            codes: Codes(url: "https://login.microsoftonline.com/common/oauth2/v2.0/token"),
            profile: bearer("https://graph.microsoft.com/v1.0/me")),
        "spotify": ProfileService(
            title: "Spotify", oldTitle: "Spotify", codes: Codes(url: "https://accounts.spotify.com/api/token"),
            profile: bearer("https://api.spotify.com/v1/me")),
        "instagram": ProfileService(
            title: "Instagram", oldTitle: "Instagram",
            codes: Codes(url: "https://api.instagram.com/oauth/access_token"),
            profile: { token, _ in
                // The host is fixed: clients must not choose the API.
                HTTPCall(
                    "GET", "https://graph.instagram.com/me?fields=id&access_token=\(PercentEncoding.encode(token))")
            }),
        "line": ProfileService(
            title: "Line", oldTitle: "Line", id: ["userId"], failures: .ofExchange,
            codes: Codes(url: "https://api.line.me/oauth2/v2.1/token"),
            profile: bearer("https://api.line.me/v2/profile")),
        "gpgames": ProfileService(
            title: "Google Play Games Services", oldTitle: "Google Play Games Services", id: ["playerId"],
            failures: .ofExchange,
            codes: Codes(url: "https://oauth2.googleapis.com/token"),
            // Anyone's token can look up a player by id. Only `me` shows whose token it is.
            profile: bearer("https://www.googleapis.com/games/v1/players/me")),
    ]
}
