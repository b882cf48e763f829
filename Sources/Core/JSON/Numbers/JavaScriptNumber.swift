/// Numbers as text, exactly as JavaScript writes them (ECMAScript, Number::toString with radix 10).
public enum JavaScriptNumber {
    /// Appends the text of a number: `3`, `0.1`, `1e+21`, `1e-7`, and `0` for negative zero too.
    ///
    /// NaN and the infinities become `NaN`, `Infinity` and `-Infinity`, which are not JSON; `JSONWriter.number` has
    /// `null` for those.
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

    /// The text of a number, as ``write(_:into:)`` appends it.
    public static func text(_ value: Double) -> String {
        var writer = JSONWriter(capacity: 32)
        write(value, into: &writer)
        return writer.text
    }

    /// Sets the decimal point, or chooses the form with an exponent, by the standard's rules.
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

/// The digits of integers in base ten.
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

    /// Writes the digits of a number to memory that has room for all `count` of them; the last one comes first.
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
    /// The digits stand in a buffer on the stack, unsafe because an array would have to be allocated for each number. It
    /// has room for the 20 digits of the greatest 64-bit number.
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
