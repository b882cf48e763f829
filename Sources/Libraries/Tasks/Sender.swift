#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// On whose behalf work is done, as far as fairness goes: the network that a request comes from, or the server itself.
///
/// Slots and budgets that many share are given round robin by sender, so that one that asks for a lot waits for itself.
/// The whole IPv4 address counts, or the /56 network of an IPv6 address, since providers assign networks of that size.
public struct Sender: Hashable, Sendable {
    /// A hash of the network that differs between processes, so that no client chooses a network that looks like
    /// another.
    let number: UInt64

    /// Work that no request asked for.
    public static let server = Sender(number: 0)

    /// The sender of the request that the current task carries out; ``server`` where it carries out none.
    public static var current: Sender { CallerPresence.current?.sender ?? .server }

    package init(number: UInt64) { self.number = number }

    /// The sender at an address.
    ///
    /// - Parameter address: An IP address in its usual text form; what is none is a sender of its own.
    public init(address: String) {
        var hasher = Hasher()
        hasher.combine(Self.network(of: address))
        number = UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// The bytes of an address that name its network.
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
