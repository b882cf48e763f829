import Foundation
import ParseModel

/// When it is some time in a time zone.
package enum LocalTime {
    /// The moments at which it is a time in time zones, with the zones that agree about each.
    ///
    /// - Parameter time: The time as if it were one of UTC.
    /// - Returns: By the difference from UTC in hours, as text. Zones that there are not are left out.
    static func moments(_ time: ParseDate, in zones: [String]) -> [String: (due: ParseDate, zones: [String])] {
        var moments: [String: (due: ParseDate, zones: [String])] = [:]
        for name in zones {
            guard let zone = TimeZone(identifier: name) else { continue }
            let due = moment(time, in: zone)
            let hours = Double(time.milliseconds - due.milliseconds) / 3_600_000
            let offset = hours == hours.rounded() ? "\(Int(hours))" : "\(hours)"
            moments[offset, default: (due, [])].zones.append(name)
        }
        return moments
    }

    /// The moment at which it is a time in a zone. Of a time that is there twice it is the first; one that clocks leave out
    /// is as much later as they do.
    package static func moment(_ time: ParseDate, in zone: TimeZone) -> ParseDate {
        func offset(_ milliseconds: Int64) -> Int64 {
            Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(milliseconds) / 1000))) * 1000
        }
        let (before, after) = (offset(time.milliseconds - 86_400_000), offset(time.milliseconds + 86_400_000))
        for candidate in [before, after] where offset(time.milliseconds - candidate) == candidate {
            return ParseDate(milliseconds: time.milliseconds - candidate)
        }
        return ParseDate(milliseconds: time.milliseconds - before)
    }
}
