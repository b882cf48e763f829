import JSON

/// Sizes as people write them: `20mb`, `512kb`, `1048576`, and numbers of bytes.
public enum ByteCount {
    /// What is larger counts as this, a petabyte, so that sums of sizes are numbers.
    static let most = 1 << 50

    /// The number of bytes that a text or a number stands for; nil for what is no size.
    static func read(_ value: JSONValue) -> Int? {
        switch value {
        case .string(let text): parse(text)
        case .number(let number): whole(number)
        default: nil
        }
    }

    /// The number of bytes that a text stands for; nil for what is no size. Units count in steps of 1024.
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
        return Int(min(bytes, Double(most)))
    }
}
