import Encoding
import HTTP
import JSON
public import ServerConfiguration

/// Which proxies are believed when they report a client's address (`X-Forwarded-For` and its relatives).
public enum ProxyTrust: Sendable {
    /// None: the client is the peer at the other end of the connection.
    case nobody
    /// Every one: the client is the first address in the list.
    case everybody
    /// That many, counted from this server outwards.
    case hops(Int)
    /// Those in the list.
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

    /// Whether there may be a proxy that is believed.
    var isSomebody: Bool {
        if case .nobody = self { false } else { true }
    }

    /// Whether the other end of a connection is a proxy that is believed.
    func trusts(peer: String) -> Bool {
        if case .nobody = self { return false }
        return IPAddress(peer).map { trusts($0, hop: 0) } ?? false
    }

    func trusts(_ address: IPAddress, hop: Int) -> Bool {
        switch self {
        case .nobody: false
        case .everybody: true
        case .hops(let count): hop < count
        case .addresses(let list): list.contains(address)
        }
    }
}

/// Where a request comes from.
package enum ClientAddress {
    /// The nearest address that is not a trusted proxy; the farthest one if all are trusted.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - forwardedFor: The value of `X-Forwarded-For`, the client first.
    ///   - trust: Which proxies are believed.
    package static func resolve(peer: String, forwardedFor: String?, trust: ProxyTrust) -> String {
        guard case .nobody = trust else {
            return resolve(peer: peer, hops: (forwardedFor ?? "").parts(between: ",").reversed(), trust: trust)
        }
        return peer
    }

    private static func resolve(peer: String, hops: [String], trust: ProxyTrust) -> String {
        var client = peer
        for (index, hop) in hops.enumerated() {
            guard let proxy = IPAddress(client), trust.trusts(proxy, hop: index),
                let next = withoutPort(hop.trimmingSpaces()), IPAddress(next) != nil
            else { break }
            client = next
        }
        return client
    }

    /// `1.2.3.4:80` and `[::1]:80` without the port.
    private static func withoutPort(_ text: Substring) -> String? {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return String(text[text.index(after: text.startIndex)..<end])
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return String(parts.count == 2 ? parts[0] : text)
    }
}
