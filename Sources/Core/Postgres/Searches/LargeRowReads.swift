import Tasks

/// The classes of which large rows were read by key within the last minute, and the callers who read them.
///
/// In such a class, a caller's reads by key use separate connections until one gives a small row, and for ten seconds
/// after a large one. So a caller of ever new large rows doesn't keep others waiting on the shared connections.
struct LargeRowReads {
    /// The time until which a class counts as one with large rows.
    private var classes = BoundedTable<UInt64, MonotonicInstant>(capacity: 1024)
    /// The time from which a caller's reads count as small.
    private var callers = BoundedTable<ReadOrigin, MonotonicInstant>(capacity: 16 * 1024)

    private static let (memory, caution) = (Duration.seconds(60), Duration.seconds(10))

    func isBarred(_ origin: ReadOrigin, at now: MonotonicInstant) -> Bool {
        guard let end = classes.peek(origin.className), end > now else { return false }
        return callers.peek(origin).map { $0 > now } ?? true
    }

    mutating func record(isLarge: Bool, _ origin: ReadOrigin, at now: MonotonicInstant) {
        if isLarge {
            classes.set(now.after(Self.memory), for: origin.className)
            callers.set(now.after(Self.caution), for: origin)
        } else if callers.peek(origin) == nil, classes.peek(origin.className) != nil {
            callers.set(now, for: origin)
        }
    }
}
