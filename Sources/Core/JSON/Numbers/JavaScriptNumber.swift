/// Formats numbers exactly like JavaScript (ECMAScript, Number::toString with radix 10).
public enum JavaScriptNumber {
    /// Appends a number such as `3`, `0.1`, `1e+21` or `1e-7`. Negative zero becomes `0`.
    ///
    /// NaN and the infinities become `NaN`, `Infinity` and `-Infinity`, which aren't valid JSON. `JSONWriter.number`
    /// writes `null` for them.
    public static func write(_ value: Double, into writer: inout JSONWriter) {
        if abs(value) < 0x1p53, let integer = Int(exactly: value) {
            writer.integer(integer)
        } else if value.isFinite {
            if value < 0 { writer.byte(UInt8(ascii: "-")) }
            write(DecimalNumber(shortest: value.magnitude), into: &writer)
        } else {
            writer.raw(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
        }
    }

    /// Returns a number as text, formatted like ``write(_:into:)``.
    public static func text(_ value: Double) -> String {
        var writer = JSONWriter(capacity: 32)
        write(value, into: &writer)
        return writer.text
    }

    private static func write(_ number: DecimalNumber, into writer: inout JSONWriter) {
        DecimalDigits.withDigits(of: number.significand) { digits in
            let pointPosition = digits.count + number.exponent
            switch pointPosition {
            case digits.count...21 where digits.count <= 21:
                writer.append(digits)
                zeros(number.exponent, into: &writer)
            case 1...21:
                writer.append(UnsafeBufferPointer(rebasing: digits[..<pointPosition]))
                writer.byte(UInt8(ascii: "."))
                writer.append(UnsafeBufferPointer(rebasing: digits[pointPosition...]))
            case -5...0:
                writer.byte(UInt8(ascii: "0"))
                writer.byte(UInt8(ascii: "."))
                zeros(-pointPosition, into: &writer)
                writer.append(digits)
            default:
                writer.byte(digits[0])
                if digits.count > 1 {
                    writer.byte(UInt8(ascii: "."))
                    writer.append(UnsafeBufferPointer(rebasing: digits[1...]))
                }
                writer.byte(UInt8(ascii: "e"))
                if pointPosition > 0 { writer.byte(UInt8(ascii: "+")) }
                writer.integer(pointPosition - 1)
            }
        }
    }

    private static func zeros(_ count: Int, into writer: inout JSONWriter) {
        for _ in 0..<count { writer.byte(UInt8(ascii: "0")) }
    }
}

/// Writes integers in decimal.
enum DecimalDigits {
    @inline(__always)
    static func count(of value: UInt64) -> Int {
        var count = 1
        var rest = value
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }

    /// Writes the digits to memory with room for `count` bytes.
    @inline(__always)
    static func write(_ value: UInt64, count: Int, to place: UnsafeMutablePointer<UInt8>) {
        var rest = value
        for position in stride(from: count - 1, through: 0, by: -1) {
            place[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Calls `body` with the ASCII digits of a number.
    ///
    /// Uses a stack buffer, because an array would be allocated for each number. 20 digits suffice for any 64-bit
    /// number.
    @inline(__always)
    static func withDigits<Result>(of value: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            buffer.initialize(repeating: 0)
            let digits = buffer[..<count(of: value)]
            if let place = buffer.baseAddress { write(value, count: digits.count, to: place) }
            return body(UnsafeBufferPointer(rebasing: digits))
        }
    }
}
