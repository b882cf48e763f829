public import ParseModel
import Synchronization

/// What time it is: what dates objects, ends sessions and tokens, and decides when a job is due.
public struct WallClock: Sendable {
    /// The clock of the system, which is later after each write than what the write was dated, in this process.
    ///
    /// So objects that are made one after the other are in the order of their dates, which have whole milliseconds. It
    /// is never more than ``mostAhead`` ahead of the system: writes that would be wait.
    public static let system = WallClock(rising: true) { .now }

    /// How far the clock may be ahead of the system, in milliseconds.
    package static let mostAhead: Int64 = 10

    private let read: @Sendable () -> ParseDate
    private let latest: LatestTime?

    /// - Parameters:
    ///   - rising: Whether it is later after each write than what the write was dated.
    ///   - read: Gives the present time. Requests call it at once and often: it must not wait.
    public init(rising: Bool = false, _ read: @escaping @Sendable () -> ParseDate) {
        self.read = read
        latest = rising ? LatestTime() : nil
    }

    /// The present time.
    public var now: ParseDate {
        let time = read()
        guard let latest else { return time }
        let next = ParseDate(milliseconds: latest.milliseconds.load(ordering: .acquiring) + 1)
        return Self.isFar(next, ahead: time) ? time : max(time, next)
    }

    /// Waits until a time is near enough to be the date of a write.
    package func approach(_ time: ParseDate) async throws {
        guard latest != nil else { return }
        let present = read()
        let wait = time.milliseconds - present.milliseconds - Self.mostAhead
        guard wait > 0, !Self.isFar(time, ahead: present) else { return }
        try await Task.sleep(for: .milliseconds(wait))
    }

    /// Notes the date of a write that others can see: what begins from now on is later.
    package func note(_ time: ParseDate) {
        guard let latest else { return }
        let present = read()
        var known = latest.milliseconds.load(ordering: .relaxed)
        var isNoted = false
        while !isNoted, time.milliseconds > known || Self.isFar(ParseDate(milliseconds: known), ahead: present) {
            (isNoted, known) = latest.milliseconds.weakCompareExchange(
                expected: known, desired: time.milliseconds, ordering: .acquiringAndReleasing)
        }
    }

    /// Whether a time is further ahead than this clock ever runs. Then the system clock was set back, and is trusted.
    private static func isFar(_ time: ParseDate, ahead present: ParseDate) -> Bool {
        time.milliseconds - present.milliseconds > 2 * mostAhead
    }

    private final class LatestTime: Sendable {
        let milliseconds = Atomic<Int64>(0)
    }
}
