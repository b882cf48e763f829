import Encoding
import JSON

/// The address of a client in two forms: one for checks against address lists, and one for everything else.
public struct ClientAddress: Sendable, Equatable {
    /// The client's IP address as trusted proxies report it, for example for rate limits, logs and cloud code.
    public let text: String
    /// The address that address lists and local exemptions are checked against.
    ///
    /// With `trustProxy: true` it is the last address of `X-Forwarded-For`, which the nearest proxy added; clients can
    /// forge all others. A loopback address in that header doesn't make a client local, so it becomes ``unknown``.
    public let vouched: String

    /// Replaces loopback addresses of requests with `X-Forwarded-For`, so that they don't count as local.
    static let unknown = "0.0.0.0"

    /// Creates an address whose two forms are equal, for clients without a proxy and for requests of cloud code.
    public init(_ peer: String) {
        text = peer
        vouched = peer
    }

    /// Reads the addresses of a request.
    ///
    /// - Parameters:
    ///   - peer: The address of the connection's other end.
    ///   - forwardedFor: The value of `X-Forwarded-For`, the client first.
    ///   - trust: The trusted proxies.
    public init(peer: String, forwardedFor: String?, trust: Configuration.TrustProxy) {
        guard let forwardedFor, trust != .noProxy else {
            text = peer
            vouched = peer
            return
        }
        let hops = Array(forwardedFor.parts(between: ",").reversed())
        text = Self.client(peer, hops, trust)
        let nearest = trust == .everybody ? Self.client(peer, hops, .hops(1)) : text
        vouched = IPAddress(nearest)?.isLoopback == true ? Self.unknown : nearest
    }

    /// Returns the nearest address that is not a trusted proxy, or the farthest valid one if all are trusted.
    private static func client(_ peer: String, _ hops: [String], _ trust: Configuration.TrustProxy) -> String {
        var client = peer
        for (index, hop) in hops.enumerated() {
            guard let proxy = IPAddress(client), trust.trusts(proxy, hop: index),
                let next = withoutPort(hop.trimmingSpaces()), IPAddress(next) != nil
            else { break }
            client = next
        }
        return client
    }

    private static func withoutPort(_ text: Substring) -> String? {
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            return String(text[text.index(after: text.startIndex)..<end])
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return String(parts.count == 2 ? parts[0] : text)
    }
}
