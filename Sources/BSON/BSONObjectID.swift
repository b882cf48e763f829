import Encoding

/// The twelve bytes that MongoDB makes ids of.
public struct BSONObjectID: Sendable, Hashable {
    /// The twelve bytes.
    public let bytes: [UInt8]

    /// Takes twelve bytes; nil for any other number of them.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 12 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads 24 hexadecimal digits; nil for anything else.
    public init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 24 else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: 24, by: 2) {
            guard let high = Self.digit(digits[place]), let low = Self.digit(digits[place + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// The bytes as 24 hexadecimal digits, small letters among them.
    public var hexadecimal: String { bytes.hexadecimal }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
