import Synchronization

/// The ranges of one type of devices that a process works on, and whether it may take another one.
///
/// A range of which only a few devices are left, and these wait for a later try, keeps no place: what one device waits for is
/// not waited for by others.
final class RangeSlots: Sendable {
    private struct State {
        var open = 0
        var waiting = 0
    }

    private let state = Mutex(State())
    private let atOnce: Int

    /// How many ranges may wait at most, and how many devices may be left of each.
    private static let mostWaiting = 20
    static let fewDevices = 5

    init(atOnce: Int) { self.atOnce = atOnce }

    /// Whether another range may be taken.
    var hasRoom: Bool {
        state.withLock { $0.open - $0.waiting < atOnce && $0.open < atOnce + Self.mostWaiting }
    }

    /// Notes that a range was taken, or is done.
    func note(isOpen: Bool) { state.withLock { $0.open += isOpen ? 1 : -1 } }

    /// Notes that all that is left of a range waits, or does so no more.
    func note(isWaiting: Bool) { state.withLock { $0.waiting += isWaiting ? 1 : -1 } }
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

    private func update(_ change: Int) {
        let left = left()
        state.withLock { state in
            state.working += change
            let isWaiting = state.working == 0 && (1...RangeSlots.fewDevices).contains(left)
            guard isWaiting != state.isWaiting else { return }
            state.isWaiting = isWaiting
            report(isWaiting)
        }
    }
}
