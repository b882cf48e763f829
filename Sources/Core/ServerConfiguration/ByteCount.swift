import JSON

/// Sizes in bytes, as numbers or as texts such as `20mb`, `512kb` and `1048576`.
public enum ByteCount {
    /// One petabyte. Larger sizes are reduced to it, so that sums of sizes can't overflow.
    static let maximum = 1 << 50

    /// Returns the number of bytes, or nil if the value is not a size.
    static func read(_ value: JSONValue) -> Int? {
        switch value {
        case .string(let text): parse(text)
        case .number(let number): whole(number)
        default: nil
        }
    }

    /// Returns the number of bytes, or nil if the text is not a size. Units are powers of 1024.
    public static func parse(_ text: String) -> Int? {
        let lower = text.lowercased()
        let units: [(String, Double)] = [
            ("tb", 1_099_511_627_776), ("gb", 1_073_741_824), ("mb", 1_048_576), ("kb", 1024), ("b", 1),
        ]
        for (unit, factor) in units where lower.hasSuffix(unit) {
            let digits = lower.dropLast(unit.count)
            return Double(digits.filter { $0 != " " }).flatMap { whole($0 * factor) }
        }
        return Double(lower).flatMap(whole)
    }

    private static func whole(_ bytes: Double) -> Int? {
        guard bytes >= 0, bytes.isFinite else { return nil }
        return Int(min(bytes, Double(maximum)))
    }
}
