import JSON

extension Configuration {
    /// How a client logs in to a mail server.
    public enum SMTPLogin: Sendable, Equatable {
        case password(user: String, password: String)
        /// By a token of OAuth 2 in place of a password.
        case token(user: String, token: AccessToken)
    }

    /// Where an access token comes from.
    public enum AccessToken: Sendable, Equatable {
        /// From the configuration, until it expires.
        case fixed(String)
        /// From a server that gives out new ones.
        case refreshed(TokenRefresh)
    }

    /// A server that gives out access tokens for a refresh token (RFC 6749, section 6).
    public struct TokenRefresh: Sendable, Equatable {
        public var url: String
        public var clientId: String
        /// The secret of the client; nil for one that has none.
        public var clientSecret: String?
        public var refreshToken: String

        package init(url: String, clientId: String, clientSecret: String? = nil, refreshToken: String) {
            self.url = url
            self.clientId = clientId
            self.clientSecret = clientSecret
            self.refreshToken = refreshToken
        }
    }
}

extension Configuration.SMTPLogin {
    /// Reads the options `user` and `password`, or `auth` as nodemailer has it.
    ///
    /// - Throws: `ConfigurationError` for half a log-in, and for two.
    static func either(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        let own = try password(&options, "password")
        let others = try auth(&options)
        guard own == nil || others == nil else {
            throw ConfigurationError("emailAdapter.options.user and emailAdapter.options.auth exclude each other")
        }
        return own ?? others
    }

    /// Reads the option `user` and its password; nil without both.
    ///
    /// - Throws: `ConfigurationError` for one without the other.
    static func password(_ options: inout AdapterOptions, _ key: Name) throws(ConfigurationError) -> Self? {
        let (user, password) = (try options.text("user"), try options.text(key))
        guard user != nil || password != nil else { return nil }
        return .password(user: try options.needed("user"), password: try options.needed(key))
    }

    /// Reads the option `auth` as nodemailer has it: `user` and `pass`, or the type `OAuth2` with a token.
    ///
    /// - Throws: `ConfigurationError` for what of it cannot be served.
    static func auth(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        try options.nested("auth", read)
    }

    private static func read(_ login: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        switch try login.text("type")?.lowercased() {
        case nil, "login": return try password(&login, "pass")
        case "oauth2": return .token(user: try login.needed("user"), token: try Configuration.AccessToken(&login))
        case let type?:
            throw login.refusal("type", "\(type) is unknown", "Write OAuth2, or user and pass without a type")
        }
    }
}

extension Configuration.AccessToken {
    private static let google = "https://oauth2.googleapis.com/token"
    private static let instead = "Write clientId, clientSecret and refreshToken, or an accessToken"

    /// Reads nodemailer's options of the type `OAuth2`.
    ///
    /// - Throws: `ConfigurationError` for ways to get tokens that there are not.
    init(_ login: inout AdapterOptions) throws(ConfigurationError) {
        for key: Name in ["serviceClient", "privateKey"] where login.value(key) != nil {
            throw login.refusal(key.text, "service-account tokens are not supported", Self.instead)
        }
        if login.value("provisionCallback") != nil {
            throw login.refusal("provisionCallback", "it is a JavaScript function", Self.instead)
        }
        for key: Name in ["customHeaders", "customParams"] where login.value(key) != nil {
            throw login.refusal(
                key.text, "token requests follow RFC 6749 and can't have extra fields", "Leave it out")
        }
        // When a token expires comes with it, or is noticed when it is refused.
        _ = (login.value("expires"), login.value("timeout"))
        let token = try login.text("accessToken")
        guard let refreshToken = try login.text("refreshToken") else {
            for key: Name in ["clientId", "clientSecret", "accessUrl"] where login.value(key) != nil {
                throw login.refusal(
                    key.text, "a refreshToken is required to get new access tokens", Self.instead)
            }
            guard let token else {
                throw login.refusal("accessToken", "it is required", Self.instead)
            }
            self = .fixed(token)
            return
        }
        let url = try login.url("accessUrl") ?? Self.google
        guard url.hasPrefix("https://") else {
            throw login.refusal("accessUrl", "secrets are sent there", "It must begin with https://")
        }
        self = .refreshed(
            Configuration.TokenRefresh(
                url: url, clientId: try login.needed("clientId"), clientSecret: try login.text("clientSecret"),
                refreshToken: refreshToken))
    }
}
