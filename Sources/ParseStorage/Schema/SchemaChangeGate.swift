import Synchronization

/// Lets one change of classes through at a time, and none for a while after one that found a table in use.
///
/// Changes that wait here hold no connection, and however many there are, those who use a table wait behind one of them
/// for a small part of the time.
final class SchemaChangeGate: Sendable {
    private struct State {
        var isBusy = false
        var closedUntil = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// For how long no change is tried after a table was in use: three times as long as others waited for it.
    private static let rest: Duration = .milliseconds(300)

    /// Waits until the change may go on; ``leave(tableWasInUse:)`` ends it.
    ///
    /// - Returns: False when that did not come before `end`.
    func enter(before end: ContinuousClock.Instant) async throws -> Bool {
        var longest = 8
        while !tryEnter() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(Int.random(in: 2...longest)))
            longest = min(longest * 2, 100)
        }
        return true
    }

    private func tryEnter() -> Bool {
        state.withLock { state in
            guard !state.isBusy, state.closedUntil <= ContinuousClock.now else { return false }
            state.isBusy = true
            return true
        }
    }

    /// Lets the next change through.
    func leave(tableWasInUse: Bool) {
        state.withLock { state in
            state.isBusy = false
            if tableWasInUse { state.closedUntil = ContinuousClock.now + Self.rest }
        }
    }
}
