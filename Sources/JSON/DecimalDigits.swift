/// The digits of integers in base ten.
enum DecimalDigits {
    /// How many digits a number has.
    @inline(__always)
    static func count(of value: UInt) -> Int {
        var count = 1
        var rest = value
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }

    /// Calls `body` with the ASCII digits of a number.
    ///
    /// The digits stand in a buffer on the stack, unsafe because digits come last to first and an array would have to
    /// be allocated for each number. It has room for the 20 digits of the greatest 64-bit number.
    @inline(__always)
    static func withDigits<Result>(of value: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { buffer in
            var rest = value
            var first = buffer.count
            repeat {
                first -= 1
                buffer.initializeElement(at: first, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest != 0
            return body(UnsafeBufferPointer(rebasing: buffer[first...]))
        }
    }
}
