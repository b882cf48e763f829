extension JSONReader {
    /// Reads the number at the cursor.
    ///
    /// Collects up to 19 digits in an integer. One rounding yields the nearest double if no power of ten is needed, or
    /// if the integer and the power are exact doubles (Clinger 1990). The standard library parses other numbers.
    mutating func number() throws(JSONError) -> Double {
        let first = cursor
        let isNegative = cursor.pointee == UInt8(ascii: "-")
        if isNegative { cursor += 1 }

        var significand: UInt64 = 0
        let integerStart = cursor
        if cursor < end, cursor.pointee == UInt8(ascii: "0") {
            cursor += 1
        } else {
            try digits(into: &significand)
        }
        var digitCount = cursor - integerStart
        var exponent = 0

        if cursor < end, cursor.pointee == UInt8(ascii: ".") {
            cursor += 1
            let fractionStart = cursor
            try digits(into: &significand)
            exponent = fractionStart - cursor
            digitCount -= exponent
        }
        if cursor < end, cursor.pointee | 0x20 == UInt8(ascii: "e") {
            cursor += 1
            exponent += try writtenExponent()
        }

        if digitCount <= 19 {
            if let magnitude = DecimalNumber(significand: significand, exponent: exponent).exactQuotientOrProduct {
                return isNegative ? -magnitude : magnitude
            }
        }
        let text = String(decoding: UnsafeBufferPointer(start: first, count: cursor - first), as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            cursor = first
            throw failure("number out of range")
        }
        return value
    }

    /// Reads one or more digits. The result may wrap around if there are more than 19.
    @inline(__always)
    private mutating func digits(into significand: inout UInt64) throws(JSONError) {
        let first = cursor
        while cursor < end {
            let digit = cursor.pointee &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            significand = significand &* 10 &+ UInt64(digit)
            cursor += 1
        }
        guard cursor > first else { throw unexpected() }
    }

    /// Reads an exponent. Caps large ones at a value that still exceeds the range of doubles.
    private mutating func writtenExponent() throws(JSONError) -> Int {
        var isNegative = false
        if cursor < end, cursor.pointee == UInt8(ascii: "-") || cursor.pointee == UInt8(ascii: "+") {
            isNegative = cursor.pointee == UInt8(ascii: "-")
            cursor += 1
        }
        let first = cursor
        var exponent = 0
        while cursor < end {
            let digit = cursor.pointee &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            exponent = min(exponent * 10 + Int(digit), 99_999)
            cursor += 1
        }
        guard cursor > first else { throw unexpected() }
        return isNegative ? -exponent : exponent
    }
}
