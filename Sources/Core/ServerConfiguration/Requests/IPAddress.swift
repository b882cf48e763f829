import Encoding

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
        guard text.utf8.count <= 64 else { return nil }
        let parsed = text.contains(":") ? Self.version6(text) : Self.version4(text)
        guard let parsed else { return nil }
        bytes = parsed
    }

    private static func version4(_ text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard part.utf8.allSatisfy({ $0.isASCIIDigit }), part.count == 1 || part.first != "0",
                let byte = UInt8(part)
            else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func version6(_ text: some StringProtocol) -> [UInt8]? {
        let address = text.prefix { $0 != "%" }
        guard let gap = address.firstRange(of: "::") else {
            guard let bytes = groups(address), bytes.count == 16 else { return nil }
            return bytes
        }
        guard let head = groups(address[..<gap.lowerBound]), let tail = groups(address[gap.upperBound...]),
            head.count + tail.count <= 14
        else { return nil }
        return head + Array(repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    /// Returns the bytes of groups separated by colons. The last group may be an IPv4 address.
    private static func groups(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.isEmpty else { return [] }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, part.contains(".") {
                guard let last = version4(part) else { return nil }
                bytes += last
            } else {
                guard (1...4).contains(part.utf8.count), part.utf8.allSatisfy({ $0.hexadecimalDigit != nil }),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                bytes += [UInt8(group >> 8), UInt8(group & 0xFF)]
            }
        }
        return bytes
    }
}
