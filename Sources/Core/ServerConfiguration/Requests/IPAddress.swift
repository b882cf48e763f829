import Encoding
import Platform

/// An IPv4 or IPv6 address.
public struct IPAddress: Sendable, Hashable {
    /// Four bytes (IPv4) or sixteen (IPv6), in network order.
    public let bytes: [UInt8]

    public var isVersion4: Bool { bytes.count == 4 }

    /// The IPv4 address inside an IPv4-mapped one such as `::ffff:1.2.3.4`, or nil for other addresses.
    public var mappedVersion4: IPAddress? {
        guard bytes.count == 16, bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF else {
            return nil
        }
        return IPAddress(bytes: Array(bytes[12...]))
    }

    /// Whether the address is in `127.0.0.0/8`, also IPv4-mapped, or `::1`.
    public var isLoopback: Bool {
        plain.isVersion4
            ? plain.bytes[0] == 127 : plain.bytes.last == 1 && plain.bytes.dropLast().allSatisfy { $0 == 0 }
    }

    /// Whether listeners on two hosts can't share a port. Names other than localhost are not resolved.
    static func overlap(_ left: String, _ right: String) -> Bool {
        let names = [left, right].map(\.asciiLowercased)
        let lists = names.map { $0 == "localhost" ? ["127.0.0.1", "::1"] : [$0] }
        return names[0] == names[1]
            || lists[0].contains { one in lists[1].contains { overlap(IPAddress(one)?.plain, IPAddress($0)?.plain) } }
    }

    private static func overlap(_ left: IPAddress?, _ right: IPAddress?) -> Bool {
        guard let left, let right else { return (left ?? right)?.isUnspecified ?? false }
        // A listener on :: also accepts IPv4.
        return left == right
            || [(left, right), (right, left)].contains { $0.isUnspecified && ($1.isVersion4 || !$0.isVersion4) }
    }

    /// The bytes as a number.
    var number: UInt128 { bytes.reduce(0) { $0 << 8 | UInt128($1) } }

    private var plain: IPAddress { mappedVersion4 ?? self }

    private var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Parses an address without a port, or returns nil. An IPv6 zone (`%eth0`) is ignored.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count <= 64, !text.utf8.contains(0) else { return nil }
        let isVersion4 = !text.utf8.contains(UInt8(ascii: ":"))
        var bytes = [UInt8](repeating: 0, count: isVersion4 ? 4 : 16)
        let address = isVersion4 ? String(text) : String(text.prefix { $0 != "%" })
        guard inet_pton(isVersion4 ? AF_INET : AF_INET6, address, &bytes) == 1 else { return nil }
        self.bytes = bytes
    }
}
