extension StringProtocol {
    /// The text with A to Z in lower case and other characters unchanged. `lowercased()` would turn U+212A KELVIN SIGN
    /// into `k`.
    @inlinable
    public var asciiLowercased: String {
        changingBytes(in: UInt8(ascii: "A")...UInt8(ascii: "Z")) { $0 + 32 }
    }

    /// The text with a to z in upper case and other characters unchanged.
    @inlinable
    public var asciiUppercased: String {
        changingBytes(in: UInt8(ascii: "a")...UInt8(ascii: "z")) { $0 - 32 }
    }

    @inlinable
    func changingBytes(in range: ClosedRange<UInt8>, _ change: (UInt8) -> UInt8) -> String {
        // A closure literal stays on the stack. Passing `range.contains` would allocate.
        guard utf8.contains(where: { range.contains($0) }) else { return String(self) }
        return String(decoding: utf8.map { range.contains($0) ? change($0) : $0 }, as: UTF8.self)
    }
}

extension StringProtocol {
    /// Returns the text without leading and trailing spaces and tabs.
    public func trimmingSpaces() -> Substring {
        var result = Substring(self)
        while let first = result.first, first == " " || first == "\t" { result.removeFirst() }
        while let last = result.last, last == " " || last == "\t" { result.removeLast() }
        return result
    }

    /// Returns the text without leading and trailing tabs and Unicode spaces.
    ///
    /// - Parameter newlines: Whether to also remove line breaks.
    public func trimmingBlanks(newlines: Bool = false) -> String {
        func isBlank(_ scalar: Unicode.Scalar) -> Bool {
            scalar == "\t" || scalar.properties.generalCategory == .spaceSeparator || newlines && isLineBreak(scalar)
        }
        return trimming(isBlank)
    }

    /// Returns the text without leading and trailing line breaks.
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
    @inlinable public var isASCIIDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    @inlinable public var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }

    @inlinable public var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    /// The value of the hexadecimal digit, or nil if the byte isn't one.
    public var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension String {
    /// Returns the first `count` characters followed by `ending`, or the whole text if it isn't longer.
    public func truncated(to count: Int, _ ending: String) -> String {
        guard utf8.count > count else { return self }
        let head = prefix(count)
        return head.endIndex == endIndex ? self : head + ending
    }
}
