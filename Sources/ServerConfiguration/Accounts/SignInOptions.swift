import JSON

/// The options of identity providers, and of calls to servers of others.
enum SignInOptions {
    /// Their rows in the table.
    static let table = [
        OptionDefinition(
            "enableInsecureAuthAdapters", "PARSE_SERVER_ENABLE_INSECURE_AUTH_ADAPTERS", .boolean,
            "Whether providers take an access token, which may be another app's, in place of a code; default true before "
                + "preset 9"),
        OptionDefinition(
            "httpsProxy", "HTTPS_PROXY", .string,
            "The proxy that calls to identity providers and other services go through: http://host:port"),
        OptionDefinition(
            "trustedCertificates", "ROOST_TRUSTED_CERTIFICATES", .string,
            "A PEM file of certificates that are trusted in such calls, beside those of the system"),
    ]

    /// What the option `auth` says of providers. Several apps of Twitter's may be a list, as in parse-server.
    static func providers(_ value: JSONValue?) -> JSONObject {
        var providers = value?.objectValue ?? [:]
        if let apps = providers["twitter"], apps.arrayValue != nil { providers["twitter"] = ["apps": apps] }
        return providers
    }
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
        }

        init() {}

        /// Reads the options.
        ///
        /// - Throws: `ConfigurationError` for a proxy that is no URL.
        init(values: [String: JSONValue]) throws(ConfigurationError) {
            trustedCertificates = values["trustedCertificates"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
            guard let text = values["httpsProxy"]?.stringValue, !text.isEmpty else { return }
            var rest = text[...]
            if rest.hasPrefix("http://") { rest = rest.dropFirst("http://".count) }
            if rest.hasSuffix("/") { rest = rest.dropLast() }
            let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !parts[0].contains("/"), !parts[0].contains("@"),
                let port = Int(parts[1]), (1...65_535).contains(port)
            else { throw ConfigurationError("option httpsProxy must be a URL such as http://proxy.example:3128") }
            proxy = Proxy(host: String(parts[0]), port: port)
        }
    }
}
