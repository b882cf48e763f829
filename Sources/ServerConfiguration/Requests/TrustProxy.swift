import JSON

extension Configuration {
    /// Which proxies are believed about the client's address (`X-Forwarded-For` and its relatives).
    public enum TrustProxy: Sendable, Equatable {
        /// None: the client is the peer at the other end of the connection.
        case nobody
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
            self = list.isEmpty ? .nobody : .addresses(try AddressList(list.flatMap { named[$0] ?? [$0] }))
        }

        /// Whether the other end of a connection is a proxy that is believed.
        public func trusts(peer: String) -> Bool {
            if case .nobody = self { return false }
            return IPAddress(peer).map { trusts($0, hop: 0) } ?? false
        }

        /// Whether a proxy is believed that stands so many others away from this server.
        public func trusts(_ address: IPAddress, hop: Int) -> Bool {
            switch self {
            case .nobody: false
            case .everybody: true
            case .hops(let count): hop < count
            case .addresses(let list): list.contains(address)
            }
        }
    }
}
