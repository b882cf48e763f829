/// A list of IP addresses and networks, such as the option `masterKeyIps` has.
///
/// `0.0.0.0/0` and `0.0.0.0` stand for every IPv4 address, `::/0`, `::` and `::0` for every IPv6 address. An IPv4
/// address in IPv6 clothing (`::ffff:10.0.0.1`) counts as IPv6 for those, and as IPv4 for all other entries.
public struct AddressList: Sendable {
    /// An entry that is neither an address nor a network.
    public struct InvalidEntry: Error, Sendable, Equatable {
        /// The entry as it was given.
        public var entry: String
    }

    private struct Network: Sendable {
        var prefix: IPAddress
        var length: Int
    }

    private var networks: [Network] = []
    private var everyVersion4 = false
    private var everyVersion6 = false

    /// Reads a list of addresses and networks in CIDR notation.
    ///
    /// - Throws: ``InvalidEntry`` for the first one that is neither.
    public init(_ entries: [String]) throws(InvalidEntry) {
        for entry in entries {
            switch entry {
            case "0.0.0.0/0", "0.0.0.0": everyVersion4 = true
            case "::/0", "::", "::0": everyVersion6 = true
            default: networks.append(try Self.network(entry))
            }
        }
    }

    /// Whether an address is in the list. Something that is no address never is.
    public func contains(_ text: String) -> Bool {
        IPAddress(text).map(contains) ?? false
    }

    func contains(_ address: IPAddress) -> Bool {
        if address.isVersion4 ? everyVersion4 : everyVersion6 { return true }
        let forms = [address, address.mappedVersion4].compactMap { $0 }
        return networks.contains { network in
            forms.contains { $0.hasPrefix(network.prefix, length: network.length) }
        }
    }

    private static func network(_ entry: String) throws(InvalidEntry) -> Network {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let prefix = IPAddress(parts[0]) else { throw InvalidEntry(entry: entry) }
        let bits = prefix.bytes.count * 8
        guard parts.count == 2 else { return Network(prefix: prefix, length: bits) }
        guard let length = Int(parts[1]), (0...bits).contains(length) else { throw InvalidEntry(entry: entry) }
        return Network(prefix: prefix, length: length)
    }
}
