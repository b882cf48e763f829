/// The digits of integers in base ten.
enum DecimalDigits {
    /// How many digits a number has.
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
