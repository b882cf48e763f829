import Synchronization

/// Limits how many ranges of one device type a process works on.
///
/// A range whose remaining devices all wait for a later attempt occupies no slot, so that an outage of one service
/// doesn't delay the others. The number of waiting devices is bounded.
final class RangeSlots: Sendable {
    private struct State {
        var open = 0
        var waiting = 0
        /// The total number of devices of waiting ranges, including settled ones.
        var devices = 0
    }

    private let state = Mutex(State())
    private let atOnce: Int

    private static let maxWaiting = 500
    private static let maxDevices = 20_000

    init(atOnce: Int) { self.atOnce = atOnce }

    var hasRoom: Bool {
        state.withLock { state in
            state.open - state.waiting < atOnce && state.waiting <= Self.maxWaiting
                && state.devices <= Self.maxDevices
        }
    }

    func recordOpened() { state.withLock { $0.open += 1 } }

    func recordDone() { state.withLock { $0.open -= 1 } }

    /// Records that a range starts or stops waiting for later attempts.
    ///
    /// - Parameter devices: The number of devices that the range started with.
    func record(isWaiting: Bool, devices: Int) {
        state.withLock { state in
            state.waiting += isWaiting ? 1 : -1
            state.devices += isWaiting ? devices : -devices
        }
    }
}

/// Detects when all remaining devices of a range wait for a later attempt.
final class RangeActivity: Sendable {
    private struct State {
        var working: Int
        var isWaiting = false
    }

    private let state: Mutex<State>
    private let left: @Sendable () -> Int
    private let report: @Sendable (_ isWaiting: Bool) -> Void

    /// - Parameters:
    ///   - parts: The number of groups of devices that get the same content.
    ///   - left: Returns the number of unsettled devices.
    ///   - report: Called when the range starts or stops waiting.
    init(parts: Int, left: @escaping @Sendable () -> Int, report: @escaping @Sendable (_ isWaiting: Bool) -> Void) {
        state = Mutex(State(working: parts))
        self.left = left
        self.report = report
    }

    /// Records that a group of devices waits for a later attempt or is done.
    func pause() { update(-1) }

    func resume() { update(1) }

    /// Ends the waiting state, even if cancellation left devices unsettled.
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
