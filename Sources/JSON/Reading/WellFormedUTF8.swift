/// The check that bytes are well-formed UTF-8 (Unicode, table 3-7).
enum WellFormedUTF8 {
    /// The index of the first sequence that is not well formed, or nil when all are.
    ///
    /// The standard library's own check, `String(validating:as:)`, is generic over encodings and cost a quarter of the
    /// time of reading a document of short strings.
    static func firstError(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var index = 0
        while index < bytes.count {
            let lead = bytes[index]
            if lead < 0x80 {
                index += 1
                continue
            }
            // The first continuation byte carries the limits against overlong forms, surrogates, and what lies
            // beyond U+10FFFF.
            let length: Int
            var limits: ClosedRange<UInt8> = 0x80...0xBF
            switch lead {
            case 0xC2...0xDF: length = 2
            case 0xE0: (length, limits) = (3, 0xA0...0xBF)
            case 0xED: (length, limits) = (3, 0x80...0x9F)
            case 0xE1...0xEF: length = 3
            case 0xF0: (length, limits) = (4, 0x90...0xBF)
            case 0xF4: (length, limits) = (4, 0x80...0x8F)
            case 0xF1...0xF3: length = 4
            default: return index
            }
            guard bytes.count - index >= length, limits.contains(bytes[index + 1]) else { return index }
            for offset in 2..<max(length, 2) where bytes[index + offset] & 0xC0 != 0x80 { return index }
            index += length
        }
        return nil
    }
}
