import NIOCore
import Synchronization

/// Closes connections on which a transfer does not move: clients that send a body byte by byte, or that do not read
/// what they asked for.
final class StallGuard: Sendable {
    /// A transfer that is being watched.
    struct Ticket: Sendable {
        fileprivate var number: UInt64
    }

    private struct Transfer: Sendable {
        var channel: any Channel
        var deadline: ContinuousClock.Instant
    }

    private struct State: Sendable {
        var transfers: [UInt64: Transfer] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How long a transfer may stand still.
    let patience: Duration

    /// The slowest pace, in bytes a second, at which a transfer counts as moving.
    private static let slowestPace = 512

    init(patience: Duration) {
        self.patience = patience
    }

    /// Begins to watch a transfer.
    func begin(on channel: any Channel) -> Ticket {
        let deadline = ContinuousClock.now + patience
        return state.withLock { state in
            state.lastNumber += 1
            state.transfers[state.lastNumber] = Transfer(channel: channel, deadline: deadline)
            return Ticket(number: state.lastNumber)
        }
    }

    /// Grants a transfer the time that so many bytes may take.
    func moved(_ ticket: Ticket, bytes: Int) {
        let latest = ContinuousClock.now + patience
        state.withLock { state in
            guard let deadline = state.transfers[ticket.number]?.deadline else { return }
            let earned = deadline + .milliseconds(bytes * 1000 / Self.slowestPace)
            state.transfers[ticket.number]?.deadline = min(earned, latest)
        }
    }

    /// Ends watching a transfer.
    func end(_ ticket: Ticket) {
        state.withLock { _ = $0.transfers.removeValue(forKey: ticket.number) }
    }

    /// Closes overdue connections until the task is cancelled.
    func run() async {
        let pause = min(patience / 4, .seconds(5))
        while (try? await Task.sleep(for: pause)) != nil {
            for channel in takeOverdue(at: .now) { channel.close(promise: nil) }
        }
    }

    private func takeOverdue(at now: ContinuousClock.Instant) -> [any Channel] {
        state.withLock { state in
            let overdue = state.transfers.filter { $0.value.deadline < now }
            for number in overdue.keys { state.transfers[number] = nil }
            return overdue.values.map(\.channel)
        }
    }
}
