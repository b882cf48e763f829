import Platform
import Synchronization

/// Formats dates for HTTP: `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    /// The current time, formatted once a second.
    package static var now: String {
        let seconds = Int(time(nil))
        return cache.withLock { cached in
            if cached.seconds != seconds { cached = (seconds, string(seconds: seconds)) }
            return cached.text
        }
    }

    /// Returns the date for a number of seconds since 1970.
    package static func string(seconds: Int) -> String {
        let (days, rest) = floorDivide(seconds, 86400)
        let date = CivilDate(daysSince1970: days)
        let weekday = weekdays[floorDivide(days + 4, 7).remainder]
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(twoDigits).joined(separator: ":")
        return "\(weekday), \(twoDigits(date.day)) \(months[date.month - 1]) \(date.year) \(clock) GMT"
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
