import JSON

extension Configuration {
    /// The credentials for an SMTP server.
    public enum SMTPLogin: Sendable, Equatable {
        case password(user: String, password: String)
        /// An OAuth 2 access token instead of a password.
        case token(user: String, token: AccessToken)
    }

    /// The source of an access token.
    public enum AccessToken: Sendable, Equatable {
        /// A constant token from the configuration, which can't be renewed.
        case fixed(String)
        /// Tokens from a token endpoint.
        case refreshed(TokenRefresh)
    }

    /// A token endpoint that issues access tokens for a refresh token (RFC 6749, section 6).
    public struct TokenRefresh: Sendable, Equatable {
        public var url: String
        public var clientId: String
        /// The client's secret, or nil for a public client.
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
    /// Reads the options `user` and `password`, or `auth` in nodemailer's format.
    ///
    /// - Throws: `ConfigurationError` for incomplete credentials, or if both forms are present.
    static func either(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        let own = try password(&options, "password")
        let others = try auth(&options)
        guard own == nil || others == nil else {
            throw ConfigurationError("emailAdapter.options.user and emailAdapter.options.auth can't be combined")
        }
        return own ?? others
    }

    /// Reads a user and a password, or returns nil if both are missing.
    ///
    /// - Throws: `ConfigurationError` if only one of them is missing.
    static func password(_ options: inout AdapterOptions, _ key: Name) throws(ConfigurationError) -> Self? {
        let (user, password) = (try options.text("user"), try options.text(key))
        guard user != nil || password != nil else { return nil }
        return .password(user: try options.needed("user"), password: try options.needed(key))
    }

    /// Reads the option `auth` in nodemailer's format: `user` and `pass`, or the type `OAuth2` with a token.
    ///
    /// - Throws: `ConfigurationError` for unsupported options.
    static func auth(_ options: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        try options.nested("auth", read)
    }

    private static func read(_ login: inout AdapterOptions) throws(ConfigurationError) -> Self? {
        switch try login.text("type")?.lowercased() {
        case nil, "login": return try password(&login, "pass")
        case "oauth2": return .token(user: try login.needed("user"), token: try Configuration.AccessToken(&login))
        case let type?:
            throw login.refusal("type", "\(type) is unknown", "Set it to OAuth2, or set user and pass without a type")
        }
    }
}

extension Configuration.AccessToken {
    private static let google = "https://oauth2.googleapis.com/token"
    private static let instead = "Set clientId, clientSecret and refreshToken, or an accessToken"

    /// Reads nodemailer's options of the type `OAuth2`.
    ///
    /// - Throws: `ConfigurationError` for unsupported ways of obtaining tokens.
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
        // Ignored: token responses contain the expiry, and rejected tokens are replaced.
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
