/// A decimal floating-point number with 34 digits, in the 128-bit format of IEEE 754.
public struct BSONDecimal: Sendable, Hashable {
    public let low: UInt64
    /// The upper 64 bits: sign, exponent, and the high bits of the digits.
    public let high: UInt64

    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// Parses a number. Returns nil if the text isn't a number, or has too many digits or an exponent out of range.
    public init?(text: String) {
        var rest = text[...]
        let isNegative = rest.hasPrefix("-")
        if isNegative || rest.hasPrefix("+") { rest.removeFirst() }
        let sign: UInt64 = isNegative ? 1 << 63 : 0
        switch rest.lowercased() {
        case "nan": self.init(low: 0, high: 0x1F << 58)
        case "inf", "infinity": self.init(low: 0, high: sign | 0x1E << 58)
        default:
            let parts = rest.split(omittingEmptySubsequences: false) { $0 == "E" || $0 == "e" }
            let halves = parts[0].split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count <= 2, halves.count <= 2, let exponent = parts.count == 2 ? Int(parts[1]) : 0 else {
                return nil
            }
            let fraction = halves.count == 2 ? halves[1] : ""
            let digits = halves[0] + fraction
            guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }),
                let coefficient = UInt128(digits), coefficient <= Self.greatestCoefficient,
                exponent.magnitude < 10_000
            else { return nil }
            let biased = exponent - fraction.utf8.count + 6176
            guard (0...12287).contains(biased) else { return nil }
            self.init(
                low: UInt64(truncatingIfNeeded: coefficient),
                high: sign | UInt64(biased) << 49 | UInt64(truncatingIfNeeded: coefficient >> 64))
        }
    }

    private static let greatestCoefficient: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999

    /// The number with all digits: `-12.5`, `1E+6111`, `NaN` or `Infinity`.
    public var text: String {
        let sign = high >> 63 == 1 ? "-" : ""
        let combination = (high >> 58) & 0x1F
        if combination == 0x1F { return "NaN" }
        if combination == 0x1E { return sign + "Infinity" }
        // If the two bits after the sign are set, the exponent starts two bits later, and the number has more than 34
        // digits, which counts as zero.
        let isLarge = combination >> 3 == 0b11
        let exponent = Int((isLarge ? high >> 47 : high >> 49) & 0x3FFF) - 6176
        var coefficient: UInt128 = 0
        if !isLarge {
            coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
            if coefficient > Self.greatestCoefficient { coefficient = 0 }
        }
        return sign + Self.text(digits: String(coefficient), exponent: exponent)
    }

    /// The nearest double.
    public var double: Double { Double(text) ?? .nan }

    private static func text(digits: String, exponent: Int) -> String {
        let point = digits.utf8.count + exponent
        if exponent <= 0, point > -6 {
            if exponent == 0 { return digits }
            if point > 0 { return digits.prefix(point) + "." + digits.dropFirst(point) }
            return "0." + String(repeating: "0", count: -point) + digits
        }
        let rest = digits.dropFirst()
        let scale = point - 1
        return digits.prefix(1) + (rest.isEmpty ? "" : "." + rest) + "E" + (scale < 0 ? "-" : "+")
            + "\(scale.magnitude)"
    }
}
