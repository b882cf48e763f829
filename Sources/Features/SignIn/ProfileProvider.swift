import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// A provider that is asked who an access token belongs to. The client brings a code, which only this app can exchange
/// for a token; or, where the deployment allows it, a token, which may be another app's.
struct ProfileProvider: AuthProvider {
    let service: ProfileService
    /// Whether tokens are taken from clients unless the provider's options say otherwise.
    let isInsecureByDefault: Bool
    /// Whether texts are those of parse-server before 8.
    let hasOldTexts: Bool
    let caller: HTTPCaller

    private func takesTokens(_ options: JSONObject) -> Bool {
        service.codes == nil || options["enableInsecureAuth"]?.boolValue ?? isInsecureByDefault
    }

    var optionForms: [Name: AuthOptionForm]? {
        ["clientId": .text, "clientSecret": .text, "enableInsecureAuth": .flag]
    }

    func warnings(_ name: Name, _ options: JSONObject) -> [String] {
        guard takesTokens(options) else { return [] }
        return [
            "option auth.\(name) takes access tokens from clients, which may be those of other apps: set clientId, "
                + "clientSecret and \"enableInsecureAuth\": false, to take codes"
        ]
    }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false, !takesTokens(options) else { return }
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
            guard takesTokens(options) else { throw failed("\(service.title) code is required.") }
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
        // What came as a code was checked when it was exchanged.
        guard takesTokens(options) else { return }
        guard let token = ProviderOptions.text(data["access_token"]), let id = ProviderOptions.text(data["id"]) else {
            throw invalid
        }
        guard try await profileId(token, data, ofCode: false).hasSameBytes(as: id) else { throw invalid }
    }

    func shown(_ stored: JSONObject, _ options: JSONObject) -> JSONObject {
        takesTokens(options) ? stored : stored.filter { $0.key == "id" }
    }

    /// The user id of a token.
    ///
    /// - Parameter ofCode: Whether the token came from exchanging a code. Then the client gets the error's details.
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
        // Some services number their users.
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
        let isJSON = codes.form == .json
        let body =
            isJSON
            ? JSONValue.object(JSONObject(uniqueKeysWithValues: fields.map { ($0.0, .string($0.1)) })).text
            : fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
        let call = HTTPCall(
            "POST", codes.url,
            headers: [
                ("Content-Type", isJSON ? "application/json" : "application/x-www-form-urlencoded"),
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
        // Some services report an invalid code with a status that says otherwise.
        if let error = ProviderOptions.text(reply.json?["error"]), service.failures != .short {
            let text = ProviderOptions.text(reply.json?["error_description"]) ?? error
            throw TokenCheck.refused(String(text.prefix(200)))
        }
        throw noToken("Invalid response")
    }
}

/// A service that says whom an access token belongs to.
struct ProfileService: Sendable {
    /// How a code is exchanged for a token.
    struct Codes: Sendable {
        enum Form: Sendable { case json, form }
        var url: String
        var form = Form.form
        /// Whether the request says that it brings a code.
        var hasGrantType = true
    }

    /// The message for clients when a service refuses.
    enum Failures: Sendable {
        /// Which request failed, and why.
        case detailed
        /// That a request failed.
        case short
        /// Why a code was not exchanged; else that the login data are invalid.
        case ofExchange
    }

    /// The name of the service in texts, today and before parse-server 8.
    var title: String
    var oldTitle: String
    /// The members that lead to the id in the profile.
    var id: [Name] = ["id"]
    var failures = Failures.short
    /// How codes are exchanged; nil where the service has none.
    var codes: Codes?
    /// The request for the profile, for a token and what else the client sent.
    var profile: @Sendable (String, JSONObject) -> HTTPCall

    private static func bearer(_ url: String, _ more: [(name: String, value: String)] = [], scheme: String = "Bearer")
        -> @Sendable (String, JSONObject) -> HTTPCall
    {
        { token, _ in HTTPCall("GET", url, headers: [("Authorization", "\(scheme) \(token)")] + more) }
    }

    static let all: [Name: ProfileService] = [
        "github": ProfileService(
            title: "GitHub", oldTitle: "Github", failures: .detailed,
            codes: Codes(url: "https://github.com/login/oauth/access_token", form: .json, hasGrantType: false),
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
                // The host is ours to choose, whatever the client calls its API.
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
            // Under its own id a player may be looked up by everybody's token: only `me` shows whose token it is.
            profile: bearer("https://www.googleapis.com/games/v1/players/me")),
    ]
}
