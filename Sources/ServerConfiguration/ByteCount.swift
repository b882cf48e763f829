/// Sizes as people write them: `20mb`, `512kb`, `1048576`.
enum ByteCount {
    /// The number of bytes; nil for what is no size.
    static func parse(_ text: String) -> Int? {
        let lower = text.lowercased()
        let units: [(String, Double)] = [
            ("tb", 1_099_511_627_776), ("gb", 1_073_741_824), ("mb", 1_048_576), ("kb", 1024), ("b", 1),
        ]
        for (unit, factor) in units where lower.hasSuffix(unit) {
            let digits = lower.dropLast(unit.count)
            return Double(digits.filter { $0 != " " }).flatMap {
                $0 >= 0 ? Int(exactly: ($0 * factor).rounded(.down)) : nil
            }
        }
        return Double(lower).flatMap { $0 >= 0 ? Int(exactly: $0.rounded(.down)) : nil }
    }
}
