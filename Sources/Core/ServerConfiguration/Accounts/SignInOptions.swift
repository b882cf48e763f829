import JSON

extension OptionTable {
    /// Identity providers, and calls to servers of others.
    static let signIn: [OptionDefinition] = [
        .custom(
            "auth", "PARSE_SERVER_AUTH_PROVIDERS", .object, \.auth,
            "Login providers, by name: {\"google\":{\"clientId\":\"…\"}}; docs/accounts.md lists them"
        ) { value, _ in
            var providers = value.objectValue ?? [:]
            // Several apps of Twitter's may be a list, as in parse-server.
            if let apps = providers["twitter"], apps.arrayValue != nil { providers["twitter"] = ["apps": apps] }
            return providers
        },
        .flag(
            "enableInsecureAuthAdapters", "PARSE_SERVER_ENABLE_INSECURE_AUTH_ADAPTERS", \.enableInsecureAuthAdapters,
            older: [8: true],
            "Accepts access tokens, which may be another app's, in place of codes"),
        .custom(
            "httpsProxy", "HTTPS_PROXY", .string, \.outgoing.proxy,
            "The proxy for calls to other services: http://host:port"
        ) { value, _ throws(ConfigurationError) in
            .some(try value.nonEmptyText.map(Configuration.Outgoing.Proxy.init))
        },
        .text(
            "trustedCertificates", "ROOST_TRUSTED_CERTIFICATES", \.outgoing.trustedCertificates,
            "A PEM file of further certificates to trust in such calls"),
    ]
}

extension Configuration {
    /// How the server reaches others.
    public struct Outgoing: Sendable {
        /// The proxy; nil for none.
        public var proxy: Proxy?
        /// A PEM file of certificates that are trusted beside those of the system; nil for none.
        public var trustedCertificates: String?

        /// A proxy for HTTP.
        public struct Proxy: Sendable, Equatable {
            /// The name or address.
            public var host: String
            public var port: Int

            /// Reads the option `httpsProxy`; throws `ConfigurationError` for a text that is no URL.
            init(_ text: String) throws(ConfigurationError) {
                var rest = text[...]
                if rest.hasPrefix("http://") { rest = rest.dropFirst("http://".count) }
                if rest.hasSuffix("/") { rest = rest.dropLast() }
                let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
                guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains("/"), !parts[0].contains("@"),
                    let port = Int(parts[1]), (1...65_535).contains(port)
                else { throw ConfigurationError("option httpsProxy must be a URL such as http://proxy.example:3128") }
                host = String(parts[0])
                self.port = port
            }
        }

        init() {}
    }
}
