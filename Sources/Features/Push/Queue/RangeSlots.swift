import Synchronization

/// The ranges of one type of devices that a process works on, and whether it may take another one.
///
/// A range whose devices all wait for a later try keeps no slot: what is sent by one service does not wait for another that
/// is down. How many devices wait in memory is bounded.
final class RangeSlots: Sendable {
    private struct State {
        var open = 0
        var waiting = 0
        /// The devices of the ranges that wait, as they were taken.
        var devices = 0
    }

    private let state = Mutex(State())
    private let atOnce: Int

    /// Maximum waiting ranges, and the maximum of their devices.
    private static let mostWaiting = 500
    private static let mostDevices = 20_000

    init(atOnce: Int) { self.atOnce = atOnce }

    /// Whether another range may be taken.
    var hasRoom: Bool {
        state.withLock { state in
            state.open - state.waiting < atOnce && state.waiting <= Self.mostWaiting
                && state.devices <= Self.mostDevices
        }
    }

    /// Notes that a range was taken.
    func noteOpened() { state.withLock { $0.open += 1 } }

    func noteDone() { state.withLock { $0.open -= 1 } }

    /// Notes that all that is left of a range waits, or does so no more.
    ///
    /// - Parameter devices: How many devices the range had.
    func note(isWaiting: Bool, devices: Int) {
        state.withLock { state in
            state.waiting += isWaiting ? 1 : -1
            state.devices += isWaiting ? devices : -devices
        }
    }
}

/// Whether all that is left of a range waits for a later try.
final class RangeActivity: Sendable {
    private struct State {
        var working: Int
        var isWaiting = false
    }

    private let state: Mutex<State>
    private let left: @Sendable () -> Int
    private let report: @Sendable (_ isWaiting: Bool) -> Void

    /// - Parameters:
    ///   - parts: How many parts of the range are being sent.
    ///   - left: Says how many devices are left of it.
    ///   - report: Takes each change.
    init(parts: Int, left: @escaping @Sendable () -> Int, report: @escaping @Sendable (_ isWaiting: Bool) -> Void) {
        state = Mutex(State(working: parts))
        self.left = left
        self.report = report
    }

    /// Notes that a part waits, or is done.
    func pause() { update(-1) }

    /// Notes that a part goes on.
    func resume() { update(1) }

    /// Notes that nothing goes on any more, also where some are left since the task was cancelled.
    func end() { update(0, isOver: true) }

    private func update(_ change: Int, isOver: Bool = false) {
        let isLeft = left() > 0 && !isOver
        state.withLock { state in
            state.working += change
            let isWaiting = state.working == 0 && isLeft
            guard isWaiting != state.isWaiting else { return }
            state.isWaiting = isWaiting
            report(isWaiting)
        }
    }
}
