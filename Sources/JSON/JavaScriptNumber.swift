/// Numbers as text, exactly as JavaScript writes them (ECMAScript, Number::toString with radix 10).
public enum JavaScriptNumber {
    /// Appends the text of a number: `3`, `0.1`, `1e+21`, `1e-7`, and `0` for negative zero too.
    ///
    /// NaN and the infinities become `NaN`, `Infinity` and `-Infinity`, which are not JSON; `JSONWriter.number` has
    /// `null` for those.
    public static func write(_ value: Double, into bytes: inout [UInt8]) {
        if abs(value) < 0x1p53, let integer = Int(exactly: value) {
            DecimalDigits.write(integer, into: &bytes)
        } else if value.isFinite {
            if value < 0 { bytes.append(UInt8(ascii: "-")) }
            write(DecimalNumber(shortest: value.magnitude), into: &bytes)
        } else {
            bytes.append(contentsOf: value.isNaN ? "NaN".utf8 : value < 0 ? "-Infinity".utf8 : "Infinity".utf8)
        }
    }

    /// The text of a number, as ``write(_:into:)`` appends it.
    public static func text(_ value: Double) -> String {
        var bytes: [UInt8] = []
        write(value, into: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Places the decimal point, or chooses the form with an exponent, by the standard's rules.
    private static func write(_ number: DecimalNumber, into bytes: inout [UInt8]) {
        DecimalDigits.withDigits(of: number.significand) { digits in
            let pointPosition = digits.count + number.exponent
            switch pointPosition {
            case digits.count...21 where digits.count <= 21:
                bytes.append(contentsOf: digits)
                zeros(number.exponent, into: &bytes)
            case 1...21:
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[..<pointPosition]))
                bytes.append(UInt8(ascii: "."))
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[pointPosition...]))
            case -5...0:
                bytes.append(UInt8(ascii: "0"))
                bytes.append(UInt8(ascii: "."))
                zeros(-pointPosition, into: &bytes)
                bytes.append(contentsOf: digits)
            default:
                bytes.append(digits[0])
                if digits.count > 1 {
                    bytes.append(UInt8(ascii: "."))
                    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: digits[1...]))
                }
                bytes.append(UInt8(ascii: "e"))
                if pointPosition > 0 { bytes.append(UInt8(ascii: "+")) }
                DecimalDigits.write(pointPosition - 1, into: &bytes)
            }
        }
    }

    private static func zeros(_ count: Int, into bytes: inout [UInt8]) {
        for _ in 0..<count { bytes.append(UInt8(ascii: "0")) }
    }
}
