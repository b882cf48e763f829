import ParseModel

/// Resolves local times in several time zones.
enum LocalTime {
    /// Returns the instants of a local time, each with the time zones that share it.
    ///
    /// - Parameters:
    ///   - time: The local time, interpreted as UTC.
    ///   - zones: Time zones with their UTC offsets at that time, in seconds.
    /// - Returns: The instants by UTC offset in hours, as text.
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
