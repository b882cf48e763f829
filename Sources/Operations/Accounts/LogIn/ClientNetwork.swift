import NIOCore

/// What of a client's address names one sender: all of an IPv4 address, the first half of one of IPv6, since a client
/// that has one such address has all those of its network.
enum ClientNetwork {
    /// The network of an address in its usual text form.
    static func network(of address: String) -> [UInt8] {
        guard address.utf8.contains(UInt8(ascii: ":")),
            case .v6(let socket)? = try? SocketAddress(ipAddress: address, port: 0)
        else { return Array(address.utf8) }
        let bytes = withUnsafeBytes(of: socket.address.sin6_addr) { Array($0) }
        let isVersion4 = bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        guard isVersion4 else { return Array(bytes[..<8]) }
        return Array(bytes[12...].map(String.init).joined(separator: ".").utf8)
    }
}
