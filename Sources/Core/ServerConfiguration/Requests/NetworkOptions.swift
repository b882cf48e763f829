import JSON

extension Configuration {
    /// The proxies whose report of the client's address is trusted (`X-Forwarded-For` and similar headers).
    public enum TrustProxy: Sendable, Equatable {
        /// No proxy: the client is the connection's other end.
        case noProxy
        /// Every proxy: the client is the first address in the header, but the last one for address lists.
        case everybody
        /// A number of proxies, counted from the server outward.
        case hops(Int)
        /// The proxies at these addresses and in these networks.
        case addresses(AddressList)

        /// Reads Express's names (`loopback`, `linklocal`, `uniquelocal`), addresses and networks.
        ///
        /// - Throws: `InvalidEntry` for the first invalid entry.
        public init(list: [String]) throws(AddressList.InvalidEntry) {
            let named = [
                "loopback": ["127.0.0.1/8", "::1/128"],
                "linklocal": ["169.254.0.0/16", "fe80::/10"],
                "uniquelocal": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
            ]
            self = list.isEmpty ? .noProxy : .addresses(try AddressList(list.flatMap { named[$0] ?? [$0] }))
        }

        /// Reads the option `trustProxy`, or returns nil to leave the default.
        ///
        /// - Throws: `ConfigurationError` for an invalid value or address.
        init?(_ value: JSONValue, _ name: String) throws(ConfigurationError) {
            let list: [String]
            switch value {
            case .bool(true):
                self = .everybody
                return
            case .number(let hops) where hops >= 1:
                self = .hops(Int(min(hops, 1000)))
                return
            case .string(let text): list = text.split { $0 == "," || $0 == " " }.map(String.init)
            case .array(let values):
                list = values.compactMap(\.stringValue)
                if list.count < values.count { throw .invalid(name, Self.allowed) }
            case .object(let members) where !members.isEmpty: throw .invalid(name, Self.allowed)
            default: return nil
            }
            do {
                try self.init(list: list)
            } catch {
                throw .invalidAddress(name, error)
            }
        }

        private static let allowed = "true, a number of proxies or a list of addresses, for example [\"10.0.0.0/8\"]"

        /// Whether the connection's other end is a trusted proxy.
        public func trusts(peer: String) -> Bool {
            if case .noProxy = self { return false }
            return IPAddress(peer).map { trusts($0, hop: 0) } ?? false
        }

        /// Whether a proxy is trusted. `hop` is the number of proxies between it and the server.
        public func trusts(_ address: IPAddress, hop: Int) -> Bool {
            switch self {
            case .noProxy: false
            case .everybody: true
            case .hops(let count): hop < count
            case .addresses(let list): list.contains(address)
            }
        }
    }
}

extension Configuration {
    /// The certificate and key for TLS.
    public struct HTTPS: Sendable, Equatable {
        /// The path of the PEM file with the certificate and its chain.
        public var certificate: String
        /// The path of the PEM file with the key.
        public var key: String

        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }

        /// Reads the option `https`, or returns nil if it is empty.
        ///
        /// - Throws: `ConfigurationError` if one of the paths is missing.
        init?(json: JSONValue) throws(ConfigurationError) {
            guard let object = json.objectValue, object.values.contains(where: { !$0.isNull }) else { return nil }
            func path(_ key: Name) throws(ConfigurationError) -> String {
                guard let path = object[key]?.stringValue, !path.isEmpty else {
                    throw ConfigurationError("option https.\(key) is missing. Set the paths of certificate and key")
                }
                return path
            }
            self.init(certificate: try path("certificate"), key: try path("key"))
        }
    }

    /// The scheme of the server's own URLs.
    public var scheme: String { https == nil ? "http" : "https" }
}
