/// Decodes Base64 like Node.js: both alphabets, optional padding, other characters skipped.
package enum Base64 {
    /// Decodes text up to the first `=`.
    package static func decode(_ text: some Sequence<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.underestimatedCount / 4 * 3)
        var bits: UInt32 = 0
        var count = 0
        for byte in text {
            guard byte != UInt8(ascii: "=") else { break }
            let value = values[Int(byte)]
            guard value >= 0 else { continue }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return result
    }

    private static let values: [Int8] = {
        var values = [Int8](repeating: -1, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (index, byte) in alphabet.utf8.enumerated() { values[Int(byte)] = Int8(index) }
        values[Int(UInt8(ascii: "-"))] = 62
        values[Int(UInt8(ascii: "_"))] = 63
        return values
    }()
}
