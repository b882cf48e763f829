import Encoding
import Limits
import Synchronization

/// Checks tickets in the database. Lists them at most once a second, so that wrong tickets don't cost a query each.
final class StoredTickets: Sendable {
    private struct List {
        var hashes: Set<String> = []
        var time: ContinuousClock.Instant?
    }

    private static let pause = Duration.seconds(1)

    private let sessions: OperatorSessionRows
    private let list = Mutex(List())
    private let gate = Gate(capacity: 1)

    init(_ sessions: OperatorSessionRows) { self.sessions = sessions }

    /// Consumes the ticket with the given hash, or returns nil if there is none. May wait a second for the next list.
    func consume(_ hash: [UInt8]) async throws -> StoredOperatorSession? {
        let name = hash.hexadecimal
        if !contains(name) {
            let now = ContinuousClock.now
            try await gate.run { try await refresh(since: now) }
            guard contains(name) else { return nil }
        }
        remove(name)
        return try await sessions.consume(ticket: hash)
    }

    /// Lists the tickets, unless they were listed after the given time. Keeps the minimum interval between two lists.
    private func refresh(since moment: ContinuousClock.Instant) async throws {
        if let time = lastTime() {
            guard time < moment else { return }
            try await Task.sleep(until: time + Self.pause, clock: .continuous)
        }
        let now = ContinuousClock.now
        set(List(hashes: try await sessions.tickets(), time: now))
    }

    @inline(never) private func contains(_ hash: String) -> Bool { list.withLock { $0.hashes.contains(hash) } }
    @inline(never) private func remove(_ hash: String) { list.withLock { _ = $0.hashes.remove(hash) } }
    @inline(never) private func set(_ new: List) { list.withLock { $0 = new } }
    @inline(never) private func lastTime() -> ContinuousClock.Instant? { list.withLock { $0.time } }
}
