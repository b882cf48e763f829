import Encoding

/// A bcrypt hash. parse-server's hashes consist of `$2b$10$`, 22 characters of salt and 31 of the hash.
package struct BcryptHash: Sendable {
    /// The highest accepted cost. Each step doubles the time, and cost 31 takes hours.
    static let highestCost = 14

    let text: String
    /// The base-2 logarithm of the number of rounds.
    let cost: Int

    /// Whether the cost is low enough to compare passwords.
    var isAffordable: Bool { cost <= Self.highestCost }

    /// Returns nil if the text isn't a bcrypt hash.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let dollar = UInt8(ascii: "$")
        guard bytes.count == 60, bytes[0] == dollar, bytes[1] == UInt8(ascii: "2"), Self.variants.contains(bytes[2]),
            bytes[3] == dollar, bytes[6] == dollar, let tens = Self.digit(bytes[4]), let ones = Self.digit(bytes[5]),
            (4...31).contains(tens * 10 + ones),
            bytes[7...].allSatisfy({ $0.isASCIIAlphanumeric || "./".utf8.contains($0) })
        else { return nil }
        self.text = text
        cost = tens * 10 + ones
    }

    private static let variants = Array("abxy".utf8)

    private static func digit(_ byte: UInt8) -> Int? {
        byte.isASCIIDigit ? Int(byte) - 48 : nil
    }
}
