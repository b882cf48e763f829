import Encoding
import JSON
import Operations
import Outgoing
import ParseModel
import ServerConfiguration

/// A provider whose clients send a token that the provider signed (OpenID Connect).
struct TokenProvider: AuthProvider {
    /// The rules of one provider: the login-data member with the token, the error texts and the checks.
    struct Rules: Sendable {
        var member: Name = "id_token"
        var audienceOption: Name = "clientId"
        /// The error text for login data without a token.
        var missing = "id token is invalid for this user."
        /// The error text if no app is configured.
        var unconfigured: String
        /// Optional lists in the login data, such as Keycloak's `roles`, with the paths where the token may contain
        /// them. A list that a client sends must equal the token's in any order.
        var lists: [Name: [[Name]]] = [:]
        /// The option that contains the settings, or nil if they are not nested.
        var nested: Name?

        /// The function that returns the check for the settings and the audiences, or nil if settings are missing.
        var check: @Sendable (JSONObject, [String]) -> TokenCheck?

        func read(_ options: JSONObject) -> JSONObject {
            nested.map { options[$0]?.objectValue ?? [:] } ?? options
        }
    }

    let rules: Rules
    let keys: IssuerKeys

    var optionForms: [Name: AuthOptionForm]? {
        [rules.nested ?? rules.audienceOption: rules.nested == nil ? .texts : .any]
    }

    func check(_ name: Name, _ options: JSONObject) throws(ConfigurationError) {
        guard options["enabled"] != false else { return }
        let read = rules.read(options)
        try ProviderOptions.require(rules.audienceOption, of: name, in: read)
        guard rules.check(read, []) != nil else {
            throw ConfigurationError("option auth.\(name) requires an issuer")
        }
    }

    func validate(_ data: JSONObject, _ options: JSONObject) async throws { _ = try await claims(data, options) }

    func check(_ attempt: AuthAttempt) async throws -> AuthOutcome {
        Self.outcome(of: attempt, try await claims(attempt.data, attempt.options), unstored: unstored)
    }

    /// Returns the login data to store, with the email address of the token if it is verified.
    static func outcome(of attempt: AuthAttempt, _ claims: JSONObject, unstored: Set<Name>) -> AuthOutcome {
        // Apple sends the flag as a string.
        let isVerified = claims["email_verified"] == true || claims["email_verified"] == "true"
        return AuthOutcome(
            stored: attempt.data.filter { !unstored.contains($0.key) },
            vouchedAddress: isVerified ? claims["email"]?.stringValue : nil)
    }

    /// Returns the claims of a client's token after checking it.
    ///
    /// - Throws: `ParseError` 101.
    func claims(_ data: JSONObject, _ options: JSONObject) async throws -> JSONObject {
        guard let token = ProviderOptions.text(data[rules.member]) else {
            throw TokenCheck.refused(rules.missing)
        }
        let read = rules.read(options)
        let audiences = ProviderOptions.texts(read[rules.audienceOption])
        guard !audiences.isEmpty, let check = rules.check(read, audiences) else {
            throw TokenCheck.refused(rules.unconfigured)
        }
        let claims = try await check.claims(
            token, of: data["id"]?.stringValue, nonce: ProviderOptions.text(data["nonce"]), keys)
        for (member, paths) in rules.lists {
            guard let sent = data[member], !sent.isNull else { continue }
            let known = paths.compactMap { $0.reduce(.object(claims) as JSONValue?) { $0?[$1] } }.first
            guard let texts = Self.texts(sent), texts == Self.texts(known ?? []) else {
                throw TokenCheck.refused(check.wrongSubject)
            }
        }
        return claims
    }

    private static func texts(_ value: JSONValue) -> Set<Name>? {
        guard let list = value.arrayValue else { return nil }
        let texts = list.compactMap(\.stringValue)
        return texts.count == list.count ? Set(texts.map { Name($0) }) : nil
    }
}

extension TokenProvider.Rules {
    static let apple = TokenProvider.Rules(
        member: "token", unconfigured: "Apple auth is not configured."
    ) { _, audiences in
        TokenCheck(
            keys: "https://appleid.apple.com/auth/keys", issuers: ["https://appleid.apple.com"], audiences: audiences)
    }

    static let google = TokenProvider.Rules(unconfigured: "Google auth is not configured.") { _, audiences in
        TokenCheck(
            keys: "https://www.googleapis.com/oauth2/v3/certs",
            issuers: ["accounts.google.com", "https://accounts.google.com"], audiences: audiences,
            wrongIssuer: "id token not issued by correct provider - expected: ")
    }

    /// Facebook's Limited Login.
    static let facebook = TokenProvider.Rules(
        member: "token", missing: "Facebook auth is invalid for this user.",
        unconfigured: "Facebook auth is not configured."
    ) { _, audiences in
        TokenCheck(
            keys: "https://www.facebook.com/.well-known/oauth/openid/jwks/", issuers: ["https://www.facebook.com"],
            audiences: audiences)
    }

    /// LINE's OpenID Connect tokens.
    static let line = TokenProvider.Rules(unconfigured: "Line auth is not configured.") { _, audiences in
        TokenCheck(
            keys: "https://api.line.me/oauth2/v2.1/certs", issuers: ["https://access.line.me"], audiences: audiences,
            algorithms: ["ES256"])
    }

    /// A Keycloak server. The option `config` contains the members of `keycloak.json`, with `resource` renamed to
    /// `client-id`.
    static let keycloak = TokenProvider.Rules(
        member: "access_token", audienceOption: "client-id", missing: "Missing access token and/or User id",
        unconfigured: "Missing keycloak configuration",
        lists: ["roles": [["roles"], ["realm_access", "roles"]], "groups": [["groups"]]], nested: "config"
    ) { options, audiences in
        guard let url = ProviderOptions.text(options["auth-server-url"]),
            url.hasPrefix("https://") || url.hasPrefix("http://"),
            let realm = ProviderOptions.text(options["realm"])
        else { return nil }
        var base = url[...]
        while base.hasSuffix("/") { base = base.dropLast() }
        let issuer = "\(base)/realms/\(PercentEncoding.encode(realm))"
        return TokenCheck(
            keys: "\(issuer)/protocol/openid-connect/certs", issuers: [issuer], audiences: audiences, partyClaim: "azp",
            wrongSubject: "Invalid authentication")
    }
}
