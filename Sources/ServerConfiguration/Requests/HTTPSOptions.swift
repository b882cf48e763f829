import JSON

/// The option of TLS in the server.
enum HTTPSOptions {
    /// Its row in the table.
    static let table = [
        OptionDefinition(
            "https", "ROOST_HTTPS", .object,
            "TLS in the server: the certificate with its chain, and its key, as PEM files that SIGHUP has read anew",
            keys: ["certificate": .string, "key": .string])
    ]
}

extension Configuration {
    /// By what the server speaks TLS.
    public struct HTTPS: Sendable, Equatable {
        /// The PEM file of the certificate and of those that lead to its authority.
        public var certificate: String
        /// The PEM file of its key.
        public var key: String

        /// Names files.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }

        /// Reads the option.
        ///
        /// - Returns: nil where nothing is asked for.
        /// - Throws: `ConfigurationError` when one of the files is not named.
        init?(json: JSONValue) throws(ConfigurationError) {
            guard let object = json.objectValue, object.values.contains(where: { !$0.isNull }) else { return nil }
            func path(_ key: Name) throws(ConfigurationError) -> String {
                guard let path = object[key]?.stringValue, !path.isEmpty else {
                    throw ConfigurationError("option https.\(key) is missing: {\"certificate\": \"…\", \"key\": \"…\"}")
                }
                return path
            }
            self.init(certificate: try path("certificate"), key: try path("key"))
        }
    }

    /// The scheme of the server's own addresses.
    public var scheme: String { https == nil ? "http" : "https" }
}
