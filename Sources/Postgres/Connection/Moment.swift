#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A time by the system's monotonic clock: cheaper than `ContinuousClock` where every request looks at it.
struct Moment: Comparable, Sendable {
    private var nanoseconds: Int64

    static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The moment that comes so much later.
    func after(_ duration: Duration) -> Moment { Moment(nanoseconds: nanoseconds &+ duration.nanoseconds) }

    /// How long until this moment, in milliseconds, rounded up; zero when it is past.
    func milliseconds(from now: Moment) -> Int64 { max(0, (nanoseconds - now.nanoseconds + 999_999) / 1_000_000) }

    /// Whether this moment lies more than that many milliseconds back.
    func isOlder(than milliseconds: Int64, at now: Moment) -> Bool {
        now.nanoseconds - nanoseconds > milliseconds * 1_000_000
    }

    static func < (one: Moment, other: Moment) -> Bool { one.nanoseconds < other.nanoseconds }
}

/// The earliest of several moments, some of which may not be set.
struct EarliestMoment {
    private(set) var moment: Moment?

    mutating func consider(_ other: Moment?) {
        guard let other else { return }
        if let moment, moment <= other { return }
        moment = other
    }
}

extension Duration {
    /// Whole nanoseconds, at most a hundred years.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(seconds, 0), 3_153_600_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Whole milliseconds.
    var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
