import ParseModel

/// When it is some time in a time zone.
enum LocalTime {
    /// The moments at which it is a time in time zones, with the zones that agree about each.
    ///
    /// - Parameters:
    ///   - time: The time as if it were one of UTC.
    ///   - zones: The zones with their difference from UTC at that time, in seconds.
    /// - Returns: By the difference from UTC in hours, as text.
    static func moments(
        _ time: ParseDate, in zones: [(name: String, offset: Int64)]
    ) -> [String: (due: ParseDate, zones: [String])] {
        var moments: [String: (due: ParseDate, zones: [String])] = [:]
        for (name, seconds) in zones {
            let due = ParseDate(milliseconds: time.milliseconds - seconds * 1000)
            let hours = Double(seconds) / 3600
            let offset = hours == hours.rounded() ? "\(Int(hours))" : "\(hours)"
            moments[offset, default: (due, [])].zones.append(name)
        }
        return moments
    }
}
