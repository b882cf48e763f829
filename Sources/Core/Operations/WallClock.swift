public import ParseModel
import Synchronization

/// The clock for object dates, expiry times and job schedules.
public struct WallClock: Sendable {
    /// The system clock. Unless set back, it is later than the date of every finished write of this process.
    ///
    /// Dates have whole milliseconds, so the clock runs ahead of the system to give consecutive writes increasing
    /// dates. A write waits until its date is at most ``maxAhead`` ahead.
    public static let system = WallClock(rising: true) { .now }

    /// The maximum lead of a write's date over the system clock, in milliseconds.
    package static let maxAhead: Int64 = 10

    private let read: @Sendable () -> ParseDate
    private let latest: LatestTime?

    /// - Parameters:
    ///   - rising: Whether the time is later than the date of every recorded write, unless the clock is set back.
    ///   - read: Returns the current time. Called often and synchronously, so it must not block.
    public init(rising: Bool = false, _ read: @escaping @Sendable () -> ParseDate) {
        self.read = read
        latest = rising ? LatestTime() : nil
    }

    public var now: ParseDate {
        let time = read()
        guard let latest else { return time }
        let next = ParseDate(milliseconds: latest.milliseconds.load(ordering: .acquiring) + 1)
        return Self.isFar(next, ahead: time) ? time : max(time, next)
    }

    /// Waits until the date of a write is at most ``maxAhead`` ahead of the system clock.
    package func approach(_ time: ParseDate) async throws {
        guard latest != nil else { return }
        let present = read()
        let wait = time.milliseconds - present.milliseconds - Self.maxAhead
        guard wait > 0, !Self.isFar(time, ahead: present) else { return }
        try await Task.sleep(for: .milliseconds(wait))
    }

    /// Records the date of a visible write. Later readings exceed it, unless the system clock was set back.
    package func record(_ time: ParseDate) {
        guard let latest else { return }
        let present = read()
        var known = latest.milliseconds.load(ordering: .relaxed)
        var isRecorded = false
        while !isRecorded, time.milliseconds > known || Self.isFar(ParseDate(milliseconds: known), ahead: present) {
            (isRecorded, known) = latest.milliseconds.weakCompareExchange(
                expected: known, desired: time.milliseconds, ordering: .acquiringAndReleasing)
        }
    }

    /// Whether a time is further ahead than this clock ever runs. Then the system clock was set back and is trusted.
    private static func isFar(_ time: ParseDate, ahead present: ParseDate) -> Bool {
        time.milliseconds - present.milliseconds > 2 * maxAhead
    }

    private final class LatestTime: Sendable {
        let milliseconds = Atomic<Int64>(0)
    }
}
