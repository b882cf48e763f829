import JSON
import Platform

/// Parses `$relativeTime`: a time relative to now, such as `3 days 2 hours ago`, `in 1 week` or `now`.
package enum RelativeTime {
    package static let needsDate = ParseError(107, "$relativeTime can only be used with Date field")

    private static let seconds: [Name: Int64] = [
        "yr": 31_536_000, "yrs": 31_536_000, "year": 31_536_000, "years": 31_536_000,
        "wk": 604_800, "wks": 604_800, "week": 604_800, "weeks": 604_800,
        "d": 86_400, "day": 86_400, "days": 86_400,
        "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
        "min": 60, "mins": 60, "minute": 60, "minutes": 60,
        "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    ]

    /// Returns the time in milliseconds since 1970.
    ///
    /// - Throws: 107 with the reason if the value is invalid.
    static func parse(_ value: JSONValue, now: Int64) throws(ParseError) -> Int64 {
        guard let original = value.stringValue else {
            throw ParseError(107, "bad $relativeTime (\(value.text)) value. Time should be a string")
        }
        func bad(_ info: String) -> ParseError {
            ParseError(107, "bad $relativeTime (\(original)) value. \(info)")
        }
        var words = original.lowercased().split(separator: " ", omittingEmptySubsequences: true).map(String.init)
        let isFuture = words.first == "in"
        let isPast = words.last == "ago"
        if words == ["now"] { return now }
        guard isFuture || isPast else { throw bad("Time should either start with 'in' or end with 'ago'") }
        guard !(isFuture && isPast) else { throw bad("Time cannot have both 'in' and 'ago'") }
        if isFuture { words.removeFirst() } else { words.removeLast() }
        guard words.count % 2 == 0, !words.isEmpty else {
            throw bad("Invalid time string. Dangling unit or number.")
        }
        var total: Int64 = 0
        for index in stride(from: 0, to: words.count, by: 2) {
            guard let count = Int64(words[index]), count.magnitude < 1_000_000_000 else {
                throw bad("'\(words[index])' is not an integer.")
            }
            guard let unit = seconds[words[index + 1]] else { throw bad("Invalid interval: '\(words[index + 1])'") }
            let (sum, overflow) = total.addingReportingOverflow(count * unit)
            guard !overflow else { throw bad("Invalid time string. Dangling unit or number.") }
            total = sum
        }
        let (milliseconds, overflow) = total.multipliedReportingOverflow(by: 1000)
        guard !overflow, milliseconds.magnitude < 8_640_000_000_000_000 else {
            throw bad("Invalid time string. Dangling unit or number.")
        }
        return isFuture ? now + milliseconds : now - milliseconds
    }
}

extension ParseDate {
    public static var now: ParseDate {
        ParseDate(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }
}
