import JSON

extension Configuration {
    /// Which proxies are believed about the client's address (`X-Forwarded-For` and its relatives).
    public enum TrustProxy: Sendable, Equatable {
        /// None: the client is the peer at the other end of the connection.
        case noProxy
        /// Every one: the client is the first address in the list.
        case everybody
        /// That many, counted from this server outwards.
        case hops(Int)
        /// Those at these addresses and networks.
        case addresses(AddressList)

        /// Reads the names that Express knows (`loopback`, `linklocal`, `uniquelocal`), addresses and networks.
        ///
        /// - Throws: The first entry that is none of them.
        public init(list: [String]) throws(AddressList.InvalidEntry) {
            let named = [
                "loopback": ["127.0.0.1/8", "::1/128"],
                "linklocal": ["169.254.0.0/16", "fe80::/10"],
                "uniquelocal": ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
            ]
            self = list.isEmpty ? .noProxy : .addresses(try AddressList(list.flatMap { named[$0] ?? [$0] }))
        }

        /// Reads the option `trustProxy`; nil where it says nothing.
        ///
        /// - Throws: `ConfigurationError` for what is no address.
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

        /// Whether the other end of a connection is a proxy that is believed.
        public func trusts(peer: String) -> Bool {
            if case .noProxy = self { return false }
            return IPAddress(peer).map { trusts($0, hop: 0) } ?? false
        }

        /// Whether a proxy is believed that stands so many others away from this server.
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
