import Platform

/// An instant of the system's monotonic clock. Cheaper to read than `ContinuousClock`, which matters for every request.
package struct MonotonicInstant: Comparable, Sendable {
    private var nanoseconds: Int64

    package static var now: MonotonicInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package func after(_ duration: Duration) -> MonotonicInstant {
        MonotonicInstant(nanoseconds: nanoseconds &+ duration.nanoseconds)
    }

    /// Returns the milliseconds until this instant, rounded up, or 0 if it has passed.
    func milliseconds(from now: MonotonicInstant) -> Int64 {
        max(0, (nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }

    func duration(to later: MonotonicInstant) -> Duration { .nanoseconds(later.nanoseconds - nanoseconds) }

    /// Whether this instant is more than `milliseconds` ago.
    func isOlder(than milliseconds: Int64, at now: MonotonicInstant) -> Bool {
        now.nanoseconds - nanoseconds > milliseconds * 1_000_000
    }

    package static func < (one: MonotonicInstant, other: MonotonicInstant) -> Bool {
        one.nanoseconds < other.nanoseconds
    }
}

/// The earliest of several optional instants.
struct EarliestInstant {
    private(set) var instant: MonotonicInstant?

    mutating func consider(_ other: MonotonicInstant?) {
        guard let other else { return }
        if let instant, instant <= other { return }
        instant = other
    }
}

extension Duration {
    /// The duration in nanoseconds. Durations above 100 years count as 100 years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 3_153_600_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
