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

    /// Reads on in the string that began at `opening`, the cursor being where its first plain run ended.
    @inline(never)
    private mutating func stringWithEscapes(from opening: UnsafePointer<UInt8>) throws(JSONError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        var run = opening
        while cursor < end {
            unescaped.append(contentsOf: UnsafeBufferPointer(start: run, count: cursor - run))
            switch cursor.pointee {
            case UInt8(ascii: "\""):
                // Escapes are ASCII, so the string as written is well formed exactly where its meaning is.
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

    /// Reads what follows a backslash, and appends what it stands for.
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

    /// Reads what follows `\u`: one code unit, or the two of a surrogate pair, the second with an escape of its own.
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
            let byte = cursor.pointee
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
            default: throw failure("invalid escape")
            }
            cursor += 1
        }
        return unit
    }

    /// Makes sure that what stands between `opening` and the cursor is well-formed UTF-8.
    @inline(never)
    private mutating func checkUTF8(from opening: UnsafePointer<UInt8>) throws(JSONError) {
        let bytes = UnsafeBufferPointer(start: opening, count: cursor - opening)
        if let index = WellFormedUTF8.firstError(in: bytes) {
            cursor = opening + index
            throw failure("invalid UTF-8")
        }
    }
}
