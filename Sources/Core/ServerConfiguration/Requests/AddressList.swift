/// A list of IP addresses and networks, such as the option `masterKeyIps`.
///
/// `0.0.0.0/0` and `0.0.0.0` match every IPv4 address; `::/0`, `::` and `::0` match every IPv6 address. A client at an
/// IPv4-mapped address (`::ffff:10.0.0.1`) counts as IPv6 for those entries, and as both for all others. An IPv4-mapped
/// entry (`::ffff:10.0.0.0/104`) means the IPv4 address or network.
public struct AddressList: Sendable, Equatable {
    /// An entry that is neither an address nor a network.
    public struct InvalidEntry: Error, Sendable, Equatable {
        public var entry: String
    }

    private struct Network: Sendable, Equatable {
        let isVersion4: Bool
        let range: ClosedRange<UInt128>

        init(_ prefix: IPAddress, length: Int) {
            isVersion4 = prefix.isVersion4
            let free = prefix.bytes.count * 8 - length
            let mask = free == 128 ? UInt128.max : (UInt128(1) << UInt128(free)) - 1
            range = (prefix.number & ~mask)...(prefix.number | mask)
        }
    }

    private var networks: [Network] = []
    private var everyVersion4 = false
    private var everyVersion6 = false

    /// Reads a list of addresses and networks in CIDR notation.
    ///
    /// - Throws: ``InvalidEntry`` for the first invalid entry.
    public init(_ entries: [String]) throws(InvalidEntry) {
        for entry in entries {
            switch entry {
            case "0.0.0.0/0", "0.0.0.0": everyVersion4 = true
            case "::/0", "::", "::0": everyVersion6 = true
            default: networks.append(try Self.network(entry))
            }
        }
    }

    /// Whether the list contains an address. False if the text is not an address.
    public func contains(_ text: String) -> Bool {
        IPAddress(text).map(contains) ?? false
    }

    public func contains(_ address: IPAddress) -> Bool {
        if address.isVersion4 ? everyVersion4 : everyVersion6 { return true }
        let forms = [address, address.mappedVersion4].compactMap { $0 }
        return networks.contains { network in
            forms.contains { $0.isVersion4 == network.isVersion4 && network.range.contains($0.number) }
        }
    }

    /// Whether the list contains every IPv4 or every IPv6 address, in one network or in several. All IPv4-mapped
    /// addresses count as every IPv4 address.
    public var admitsEverybody: Bool {
        if everyVersion4 || everyVersion6 { return true }
        let version4 = networks.filter(\.isVersion4).map(\.range)
        let version6 = networks.filter { !$0.isVersion4 }.map(\.range)
        let mapped: UInt128 = 0xFFFF << 32
        return Self.covers(0...UInt128(UInt32.max), version4) || Self.covers(0...UInt128.max, version6)
            || Self.covers(mapped...(mapped | UInt128(UInt32.max)), version6)
    }

    private static func covers(_ whole: ClosedRange<UInt128>, _ ranges: [ClosedRange<UInt128>]) -> Bool {
        var next = whole.lowerBound
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if range.lowerBound > next { return false }
            if range.upperBound >= whole.upperBound { return true }
            if range.upperBound >= next { next = range.upperBound + 1 }
        }
        return false
    }

    private static func network(_ entry: String) throws(InvalidEntry) -> Network {
        let parts = entry.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let prefix = IPAddress(parts[0]) else { throw InvalidEntry(entry: entry) }
        let bits = prefix.bytes.count * 8
        var length = bits
        if parts.count == 2 {
            guard let given = Int(parts[1]), (0...bits).contains(given) else { throw InvalidEntry(entry: entry) }
            length = given
        }
        if let mapped = prefix.mappedVersion4, length >= 96 { return Network(mapped, length: length - 96) }
        return Network(prefix, length: length)
    }
}
