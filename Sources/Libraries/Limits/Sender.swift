import Platform

/// The client network whose share of the server's resources a request uses, or the server itself.
///
/// Senders take turns at shared slots and budgets, so a sender with many requests mostly waits for itself.
/// A sender is an IPv4 address or the /56 network of an IPv6 address, the size that providers assign to a customer.
public struct Sender: Hashable, Sendable {
    /// A hash of the network. Its seed is random, so that clients can't choose a network that collides with another.
    let number: UInt64

    /// Work of the server itself, without a request.
    public static let server = Sender(number: 0)

    /// The sender of the current task's request, or ``server`` outside of requests.
    public static var current: Sender { CallerPresence.current?.sender ?? .server }

    package init(number: UInt64) { self.number = number }

    /// Creates the sender of an address.
    ///
    /// - Parameter address: An IP address as text. Any other text is a separate sender.
    public init(address: String) {
        var hasher = Hasher()
        hasher.combine(Self.network(of: address))
        number = UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// Returns the bytes that identify an address's network.
    package static func network(of address: String) -> [UInt8] {
        var parsed = in6_addr()
        guard address.utf8.contains(UInt8(ascii: ":")), inet_pton(AF_INET6, address, &parsed) == 1 else {
            return Array(address.utf8)
        }
        let bytes = withUnsafeBytes(of: parsed) { Array($0) }
        let isVersion4 = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        guard isVersion4 else { return Array(bytes[..<7]) }
        return Array(bytes[12...].map(String.init).joined(separator: ".").utf8)
    }
}
