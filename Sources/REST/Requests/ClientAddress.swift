import Encoding
import HTTP
import JSON
package import ServerConfiguration

/// Where a request comes from.
package enum ClientAddress {
    /// The nearest address that is not a trusted proxy; the farthest one if all are trusted.
    ///
    /// - Parameters:
    ///   - peer: The other end of the connection.
    ///   - forwardedFor: The value of `X-Forwarded-For`, the client first.
    ///   - trust: Which proxies are believed.
    package static func resolve(peer: String, forwardedFor: String?, trust: Configuration.TrustProxy) -> String {
        guard case .noProxy = trust else {
            return resolve(peer: peer, hops: (forwardedFor ?? "").parts(between: ",").reversed(), trust: trust)
        }
        return peer
    }

    private static func resolve(peer: String, hops: [String], trust: Configuration.TrustProxy) -> String {
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
