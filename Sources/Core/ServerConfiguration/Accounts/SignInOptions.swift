import JSON

extension OptionTable {
    /// Options for identity providers and for requests to other services.
    static let signIn: [OptionDefinition] = [
        .custom(
            "auth", "PARSE_SERVER_AUTH_PROVIDERS", .object, \.auth,
            "Login providers, by name: {\"google\":{\"clientId\":\"…\"}}; docs/sign-in.md lists them"
        ) { value, _ in
            var providers = value.objectValue ?? [:]
            // As in parse-server, Twitter takes a list of apps.
            if let apps = providers["twitter"], apps.arrayValue != nil { providers["twitter"] = ["apps": apps] }
            return providers
        },
        .flag(
            "enableInsecureAuthAdapters", "PARSE_SERVER_ENABLE_INSECURE_AUTH_ADAPTERS", \.enableInsecureAuthAdapters,
            older: [8: true],
            "Accepts access tokens instead of codes, even those issued to other apps"),
        .custom(
            "httpsProxy", "HTTPS_PROXY", .string, \.outgoing.proxy,
            "The proxy for calls to other services: http://host:port"
        ) { value, _ throws(ConfigurationError) in
            .some(try value.nonEmptyText.map(Configuration.Outgoing.Proxy.init))
        },
        .text(
            "trustedCertificates", "ROOST_TRUSTED_CERTIFICATES", \.outgoing.trustedCertificates,
            "A PEM file of additional certificates to trust in calls to other services"),
    ]
}

extension Configuration {
    /// Settings for requests to other services.
    public struct Outgoing: Sendable {
        public var proxy: Proxy?
        /// The path of a PEM file of certificates to trust in addition to the system's, or nil if not set.
        public var trustedCertificates: String?

        /// An HTTP proxy.
        public struct Proxy: Sendable, Equatable {
            /// The host name or IP address.
            public var host: String
            public var port: Int

            /// Reads the option `httpsProxy`.
            ///
            /// - Throws: `ConfigurationError` if the text is not a host and a port, with or without `http://`.
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
    }
}
