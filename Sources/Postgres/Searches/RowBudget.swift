import Synchronization
import Tasks

/// The memory of rows that were read, or are about to be, and are not written into an answer yet.
///
/// Reads that may give many bytes wait for room before they are sent, in a queue that is fair to senders. Small ones,
/// as most are, neither wait nor count.
final class RowBudget: Sendable {
    /// How many bytes there are for all; a result that is larger is read alone.
    static let capacity = 32 * 1024 * 1024
    /// How many bytes of rows do not count.
    static let free = 64 * 1024

    private let gate = Gate(capacity: capacity, share: capacity / 2, mostWaiting: 10_000)

    /// Whether rows turned out to be larger than there is room for.
    var isOverfull: Bool { gate.isOverfull }
    /// How many bytes are taken.
    var used: Int { gate.used }

    /// Waits for room; throws `PostgresError` of the kinds `cancelled` and `busy`.
    func reserve(_ bytes: Int) async throws -> RowReservation {
        let (weight, sender) = (min(bytes, Self.capacity), Sender.current)
        do {
            try await gate.enter(weight: weight, of: sender)
        } catch is Gate.Full {
            throw PostgresError(.busy, "too many reads wait for memory")
        } catch {
            throw PostgresError.cancelled
        }
        return RowReservation(of: weight, in: gate, for: sender)
    }

    /// Takes room without waiting for it, for rows that are here already.
    func reservation() -> RowReservation { RowReservation(of: 0, in: gate, for: .current) }
}

/// Room in a ``RowBudget``, until it is given back.
final class RowReservation: Sendable {
    private let gate: Gate
    private let sender: Sender
    /// Nil when it was given back.
    private let weight: Mutex<Int?>

    fileprivate init(of weight: Int, in gate: Gate, for sender: Sender) {
        self.weight = Mutex(weight)
        self.gate = gate
        self.sender = sender
    }

    deinit { release() }

    func resize(to bytes: Int) {
        let before = weight.withLock { weight -> Int? in
            guard let before = weight else { return nil }
            weight = bytes
            return before
        }
        guard let before else { return }
        gate.add(weight: bytes, of: sender)
        gate.leave(weight: before, of: sender)
    }

    func release() {
        let before = weight.withLock { weight in
            defer { weight = nil }
            return weight
        }
        guard let before else { return }
        gate.leave(weight: before, of: sender)
        if before >= PostgresClient.mostShared { FreedMemory.note(before) }
    }
}
