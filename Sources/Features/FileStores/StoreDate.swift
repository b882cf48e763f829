import Encoding
import Platform

package enum StoreDate {
    /// Converts an HTTP date to seconds since 1970, or returns nil if it is invalid.
    package static func seconds(ofHTTPDate text: String) -> Int? {
        let parts = text.split { " :,".contains($0) }
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        guard parts.count >= 7, let day = Int(parts[1]), let month = months.firstIndex(of: String(parts[2])),
            let year = Int(parts[3]), let hour = Int(parts[4]), let minute = Int(parts[5]), let second = Int(parts[6])
        else { return nil }
        return seconds(year, month + 1, day, hour, minute, second)
    }

    /// Converts an ISO date such as `2024-01-31T12:00:00.000Z` to seconds since 1970, or returns nil if it is invalid.
    package static func seconds(ofISODate text: String) -> Int? {
        let parts = text.split { "-T:.Z".contains($0) }.prefix(6).map { Int($0) }
        guard parts.count == 6, let year = parts[0], let month = parts[1], let day = parts[2], let hour = parts[3],
            let minute = parts[4], let second = parts[5]
        else { return nil }
        return seconds(year, month, day, hour, minute, second)
    }

    /// Converts a time to seconds since 1970. Returns nil if a number is out of range, because the numbers come from
    /// another server.
    private static func seconds(
        _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
    ) -> Int? {
        guard (1...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        return CivilDate(year: year, month: month, day: day).daysSince1970 * 86_400
            + hour * 3600 + minute * 60 + second
    }

    /// Parses an ISO date, or returns nil if it is invalid.
    static func date(ofISODate text: String) -> Date? {
        seconds(ofISODate: text).map { Date(timeIntervalSince1970: Double($0)) }
    }
}
