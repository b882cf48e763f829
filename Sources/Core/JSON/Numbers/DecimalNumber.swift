/// A decimal number: `significand` times ten to the power of `exponent`.
struct DecimalNumber {
    var significand: UInt64
    var exponent: Int

    static let exactPowersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    /// The nearest double, or nil if computing it may take more than one rounding. One rounding suffices for an
    /// integer, and for an integer up to 2^53 scaled by a power of ten that is an exact double.
    @inline(__always)
    var exactQuotientOrProduct: Double? {
        if exponent == 0 { return Double(significand) }
        guard significand <= 1 << 53 else { return nil }
        if exponent < 0, exponent >= -22 { return Double(significand) / Self.exactPowersOfTen[-exponent] }
        if exponent > 0, exponent <= 22 { return Double(significand) * Self.exactPowersOfTen[exponent] }
        return nil
    }

    /// The same number without trailing zeros in the significand.
    @inline(__always)
    var normalized: DecimalNumber {
        guard significand != 0 else { return DecimalNumber(significand: 0, exponent: 0) }
        var result = self
        while result.significand % 10 == 0 {
            result.significand /= 10
            result.exponent += 1
        }
        return result
    }
}

extension DecimalNumber {
    /// Creates the shortest decimal number that parses as `value`, which must be positive and finite. If several are
    /// equally short, creates the nearest.
    init(shortest value: Double) {
        self = Self.upToFifteenDigits(value) ?? Self(describing: value)
    }

    /// Returns the shortest digits of a value within 1e-6..<1e15, or nil if it is outside or needs more than 15 digits.
    ///
    /// Decimal numbers with up to 15 digits map to distinct doubles, so if one parses as `value`, it is the only one.
    /// Scaling `value` to 15 digits finds it, because the product is within a quarter of the exact integer.
    private static func upToFifteenDigits(_ value: Double) -> DecimalNumber? {
        guard value >= 1e-6, value < 1e15 else { return nil }
        let powers = Self.exactPowersOfTen
        var digitsBeforePoint = 0
        if value >= 1 {
            while value >= powers[digitsBeforePoint] { digitsBeforePoint += 1 }
        } else {
            while value * powers[1 - digitsBeforePoint] < 1 { digitsBeforePoint -= 1 }
        }
        let scale = powers[15 - digitsBeforePoint]
        let significand = (value * scale).rounded()
        guard significand / scale == value else { return nil }
        return DecimalNumber(significand: UInt64(significand), exponent: digitsBeforePoint - 15).normalized
    }

    /// Parses `value.description`, which has the shortest digits.
    private init(describing value: Double) {
        var significand: UInt64 = 0
        var exponent = 0
        var writtenExponent = 0
        var isExponentNegative = false
        var isAfterPoint = false
        var isAfterE = false
        for byte in value.description.utf8 {
            switch byte {
            case UInt8(ascii: "."): isAfterPoint = true
            case UInt8(ascii: "e"): isAfterE = true
            case UInt8(ascii: "-"): isExponentNegative = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                let digit = byte - UInt8(ascii: "0")
                if isAfterE {
                    writtenExponent = writtenExponent * 10 + Int(digit)
                } else {
                    significand = significand * 10 + UInt64(digit)
                    if isAfterPoint { exponent -= 1 }
                }
            default: break
            }
        }
        exponent += isExponentNegative ? -writtenExponent : writtenExponent
        self = DecimalNumber(significand: significand, exponent: exponent).normalized
    }
}
