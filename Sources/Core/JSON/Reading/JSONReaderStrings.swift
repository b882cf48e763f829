import Encoding

extension JSONReader {
    /// Reads the string whose opening quote is at the cursor.
    mutating func string() throws(JSONError) -> String {
        cursor += 1
        let opening = cursor
        let run = PlainRun.end(from: opening, limit: end)
        cursor = run.end
        guard cursor < end, cursor.pointee == UInt8(ascii: "\"") else { return try stringWithEscapes(from: opening) }
        let bytes = UnsafeBufferPointer(start: opening, count: cursor - opening)
        if !run.isASCII { try checkUTF8(from: opening) }
        cursor += 1
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Continues a string whose first run without escapes ends at the cursor.
    @inline(never)
    private mutating func stringWithEscapes(from opening: UnsafePointer<UInt8>) throws(JSONError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        var run = opening
        while cursor < end {
            unescaped.append(contentsOf: UnsafeBufferPointer(start: run, count: cursor - run))
            switch cursor.pointee {
            case UInt8(ascii: "\""):
                // Escapes are ASCII, so the encoded string is valid UTF-8 if and only if the decoded one is.
                try checkUTF8(from: opening)
                cursor += 1
                return String(decoding: unescaped, as: UTF8.self)
            case UInt8(ascii: "\\"):
                cursor += 1
                try escape()
            default:
                throw failure("unescaped control character")
            }
            run = cursor
            cursor = PlainRun.end(from: cursor, limit: end).end
        }
        throw unexpected()
    }

    private mutating func escape() throws(JSONError) {
        guard cursor < end else { throw unexpected() }
        switch cursor.pointee {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(cursor.pointee)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            cursor += 1
            return try unicodeEscape()
        default: throw failure("invalid escape")
        }
        cursor += 1
    }

    /// Decodes `\u` escapes: one code unit, or a surrogate pair of two escapes.
    private mutating func unicodeEscape() throws(JSONError) {
        let unit = try hexadecimalCodeUnit()
        var scalar = Unicode.Scalar(unit)
        let mayBePair = UTF16.isLeadSurrogate(unit) && end - cursor >= 2
        if mayBePair, cursor[0] == UInt8(ascii: "\\"), cursor[1] == UInt8(ascii: "u") {
            let second = cursor
            cursor += 2
            let trail = try hexadecimalCodeUnit()
            if UTF16.isTrailSurrogate(trail) {
                scalar = Unicode.Scalar(0x1_0000 + (UInt32(unit & 0x3FF) << 10 | UInt32(trail & 0x3FF)))
            } else {
                cursor = second
            }
        }
        unescaped.append(contentsOf: UTF8.encode(scalar ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
    }

    private mutating func hexadecimalCodeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard cursor < end else { throw unexpected() }
            guard let digit = cursor.pointee.hexadecimalDigit else { throw failure("invalid escape") }
            unit = unit << 4 | UInt16(digit)
            cursor += 1
        }
        return unit
    }

    @inline(never)
    private mutating func checkUTF8(from opening: UnsafePointer<UInt8>) throws(JSONError) {
        let bytes = UnsafeBufferPointer(start: opening, count: cursor - opening)
        if let index = WellFormedUTF8.firstError(in: bytes) {
            cursor = opening + index
            throw failure("invalid UTF-8")
        }
    }
}

/// Validates UTF-8 (Unicode, table 3-7).
enum WellFormedUTF8 {
    /// Returns the index of the first invalid sequence, or nil if the bytes are valid.
    ///
    /// Replaces `String(validating:as:)`, which is generic over encodings and accounted for a quarter of the time spent
    /// on parsing a document of short strings.
    static func firstError(in bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        var index = 0
        while index < bytes.count {
            let lead = bytes[index]
            if lead < 0x80 {
                index += 1
                continue
            }
            // The range of the first continuation byte excludes overlong forms, surrogates, and code points above
            // U+10FFFF.
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
