import Encoding
import HTTP
package import ServerConfiguration

/// Decides which clients can reach the console.
package struct ConsoleReach: Sendable {
    private let reach: Configuration.Console.Reach
    private let addresses: AddressList
    private let trustProxy: Configuration.TrustProxy
    private let allowsPlainHTTP: Bool
    private let speaksTLS: Bool
    /// Whether browsers rejected for an address or proxy get a page with advice. True if only this machine is admitted.
    package let isExplained: Bool

    /// - Throws: The first invalid address in `console.addresses`.
    package init(_ configuration: Configuration) throws(AddressList.InvalidEntry) {
        reach = configuration.console.reach
        addresses = try AddressList(configuration.console.addresses)
        trustProxy = configuration.trustProxy
        allowsPlainHTTP = configuration.console.allowsPlainHTTP
        speaksTLS = configuration.https != nil
        isExplained =
            reach == .thisMachine || reach == .addresses && configuration.console.addresses == Configuration.thisMachine
    }

    /// The network path of a request: the connected peer, the client's address, and what a proxy reported.
    package struct Way: Sendable {
        /// The address of the connected peer.
        package var peer: String
        /// The client's address. Forwarded addresses count only from trusted proxies.
        package var address: String
        /// Whether a header field indicates a proxy.
        package var isForwarded = false
        /// The protocol of the original request, as reported by a proxy.
        package var forwardedProtocol: String?

        package init(
            peer: String, address: String, isForwarded: Bool = false, forwardedProtocol: String? = nil
        ) {
            self.peer = peer
            self.address = address
            self.isForwarded = isForwarded
            self.forwardedProtocol = forwardedProtocol
        }
    }

    /// The reason why the console doesn't serve a request, as text for the log.
    package enum Refusal: String {
        case address = "it came from another address"
        case proxy = "it came through a proxy"
        /// The address is allowed.
        case plainHTTP = "it came without TLS, and the option console.allowPlainHTTP is not set"
    }

    /// Returns the reason to reject a request, or nil if the console may serve it.
    package func refusal(of way: Way) -> Refusal? {
        let otherAddress = way.isForwarded ? Refusal.proxy : .address
        switch reach {
        case .closed: return otherAddress
        case .thisMachine: return !way.isForwarded && Self.isThisMachine(way.peer) ? nil : otherAddress
        case .addresses:
            guard addresses.contains(way.address) else { return otherAddress }
            // An untrusted proxy, or one that doesn't name its client, means that the client is unknown.
            if way.isForwarded, !trustProxy.trusts(peer: way.peer) || Self.isThisMachine(way.address) { return .proxy }
            let isLocal = !way.isForwarded && Self.isThisMachine(way.peer)
            return isLocal || allowsPlainHTTP || isSecure(way) ? nil : .plainHTTP
        }
    }

    /// Returns whether the client's connection is encrypted. Only trusted proxies are believed.
    package func isSecure(_ way: Way) -> Bool {
        guard way.isForwarded, trustProxy.trusts(peer: way.peer), let scheme = way.forwardedProtocol else {
            return speaksTLS
        }
        return scheme.prefix { $0 != "," } == "https"
    }

    private static func isThisMachine(_ address: String) -> Bool { IPAddress(address)?.isLoopback ?? false }
}

/// The host names under which the console may be opened. Other names that resolve to this server may belong to an
/// attacker (DNS rebinding).
package struct ConsoleHosts: Sendable {
    private struct Host: Sendable, Hashable {
        var name: String
        var port: Int?

        init?(_ text: some StringProtocol) {
            let text = text.lowercased()
            if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
                name = String(text[...end])
                let rest = text[text.index(after: end)...]
                guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
                port = rest.isEmpty ? nil : Int(rest.dropFirst())
                if !rest.isEmpty, port == nil { return nil }
            } else {
                let parts = text.split(separator: ":", omittingEmptySubsequences: false)
                guard parts.count <= 2, !parts[0].isEmpty else { return nil }
                name = String(parts[0])
                port = parts.count == 2 ? Int(parts[1]) : nil
                if parts.count == 2, port == nil { return nil }
            }
            guard name.utf8.allSatisfy({ $0.isASCIIAlphanumeric || ".-_:[]".utf8.contains($0) }) else { return nil }
        }
    }

    private let others: [Host]
    private static let own: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

    package init(_ configuration: Configuration) {
        var others = configuration.console.hosts.compactMap { Host($0) }
        if let url = configuration.publicServerURL, let scheme = url.firstRange(of: "://"),
            let host = Host(url[scheme.upperBound...].prefix { $0 != "/" })
        {
            others.append(host)
        }
        self.others = others
    }

    /// Returns whether the console may be opened under a host name.
    ///
    /// - Parameters:
    ///   - authority: The name with an optional port, from the request or a trusted proxy.
    ///   - port: The server's port.
    ///   - isSecure: Whether the client's connection is encrypted.
    package func accepts(_ authority: String?, port: Int, isSecure: Bool) -> Bool {
        guard let authority, let host = Host(authority) else { return false }
        let usual = isSecure ? 443 : 80
        if Self.own.contains(host.name) { return host.port ?? usual == port }
        return others.contains { $0.name == host.name && ($0.port == nil || $0.port == host.port ?? usual) }
    }
}
