extension StringProtocol {
    /// The text with A to Z as small letters, and everything else as it is: for the names of protocols, which know no other
    /// letters. `lowercased()` would make a `k` of the Kelvin sign.
    @inlinable
    public var asciiLowercased: String {
        changingBytes(in: UInt8(ascii: "A")...UInt8(ascii: "Z")) { $0 + 32 }
    }

    /// The text with a to z as capitals, and everything else as it is.
    @inlinable
    public var asciiUppercased: String {
        changingBytes(in: UInt8(ascii: "a")...UInt8(ascii: "z")) { $0 - 32 }
    }

    @inlinable
    func changingBytes(in range: ClosedRange<UInt8>, _ change: (UInt8) -> UInt8) -> String {
        // A closure of its own lies on the stack; `range.contains` by itself would be allocated.
        guard utf8.contains(where: { range.contains($0) }) else { return String(self) }
        return String(decoding: utf8.map { range.contains($0) ? change($0) : $0 }, as: UTF8.self)
    }
}

extension StringProtocol {
    /// The text without the spaces and tabs around it.
    public func trimmingSpaces() -> Substring {
        var result = Substring(self)
        while let first = result.first, first == " " || first == "\t" { result.removeFirst() }
        while let last = result.last, last == " " || last == "\t" { result.removeLast() }
        return result
    }

    /// The text without the spaces and tabs of all scripts around it.
    ///
    /// - Parameter newlines: Whether line breaks around it are removed, too.
    public func trimmingBlanks(newlines: Bool = false) -> String {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool {
            scalar == "\t" || scalar.properties.generalCategory == .spaceSeparator || newlines && isLineBreak(scalar)
        }
        return trimming(isBlank)
    }

    /// The text without the line breaks around it.
    public func trimmingLineBreaks() -> String { trimming(isLineBreak) }

    private func trimming(_ isDropped: (Unicode.Scalar) -> Bool) -> String {
        var scalars = Substring(self).unicodeScalars.drop(while: isDropped)
        while let last = scalars.last, isDropped(last) { scalars.removeLast() }
        return String(scalars)
    }

    private func isLineBreak(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\n"..."\r", "\u{85}", "\u{2028}", "\u{2029}": true
        default: false
        }
    }
}

extension UInt8 {
    /// Whether the byte is one of 0 to 9.
    @inlinable public var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    /// Whether the byte is one of A to Z and a to z.
    @inlinable public var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    /// Whether the byte is one of either.
    @inlinable public var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    /// What the byte is worth as a hexadecimal digit; nil for what is none.
    public var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
