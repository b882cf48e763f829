import Encoding
import HTTP
import JSON

/// Sizes as configurations write them: `20mb`, `512kb`, `1048576`.
enum ByteSize {
    /// The number of bytes; nil when the text is no size. Units count in steps of 1024.
    static func parse(_ text: String) -> Int? {
        let lowercased = text.trimmingSpaces().asciiLowercased
        let digits = lowercased.prefix { $0.isNumber || $0 == "." }
        let unit = lowercased[digits.endIndex...].trimmingSpaces()
        guard let number = Double(digits), number >= 0, let factor = factors[String(unit)] else { return nil }
        let bytes = number * factor
        return bytes < 9e15 ? Int(bytes) : nil
    }

    private static let factors: [Name: Double] = [
        "": 1, "b": 1, "kb": 1024, "mb": 1_048_576, "gb": 1_073_741_824, "tb": 1_099_511_627_776,
    ]
}
