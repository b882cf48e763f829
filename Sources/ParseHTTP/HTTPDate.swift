import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Dates as HTTP writes them: `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    /// The present time; the text is made once a second.
    static var now: String {
        let seconds = Int(time(nil))
        return cache.withLock { cached in
            if cached.seconds != seconds { cached = (seconds, string(seconds: seconds)) }
            return cached.text
        }
    }

    /// The time that lies `seconds` after 1970 began.
    static func string(seconds: Int) -> String {
        let (days, rest) = floorDivide(seconds, 86400)
        let (year, month, day) = date(daysSince1970: days)
        let weekday = weekdays[floorDivide(days + 4, 7).remainder]
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(twoDigits).joined(separator: ":")
        return "\(weekday), \(twoDigits(day)) \(months[month - 1]) \(year) \(clock) GMT"
    }

    /// The Gregorian date of a day, after the algorithm that counts years from March.
    private static func date(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = floorDivide(daysSince1970 + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func floorDivide(_ value: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let cache = Mutex<(seconds: Int, text: String)>((-1, ""))
}
