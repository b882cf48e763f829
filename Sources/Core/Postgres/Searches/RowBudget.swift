import Limits
import Synchronization

/// Limits the memory of rows, counted from the start of their read until their result is released or freed.
///
/// Reads that may return many bytes wait for room before they are sent. Small results have a separate lane, so they
/// never wait for large ones. In each lane, the sender that has used the least time goes first. Reads that are expected
/// to return at most 64 KB don't wait. Their results count only if they turn out larger or more is read for their rows.
package final class RowBudget: Sendable {
    /// The maximum total size of the large results held at a time, in bytes. A larger result is read alone.
    package static let capacity = 32 * 1024 * 1024
    /// The maximum size of a result in the small lane, in bytes.
    package static let maxSmallBytes = 2 * 1024 * 1024
    /// The expected size in bytes up to which a read never waits for memory.
    static let free = 64 * 1024

    private static let smallCapacity = 8 * 1024 * 1024
    private static let maxWaiting = 10_000

    private let small = Gate(
        capacity: smallCapacity, share: smallCapacity / 2, countsTime: true, maxWaiting: maxWaiting)
    private let large = Gate(capacity: capacity, share: capacity / 2, countsTime: true, maxWaiting: maxWaiting)

    private let reads = Mutex<[ObjectIdentifier: RowReservation]>([:])

    private let shortestRead: Duration
    private let patience: Duration

    /// - Parameters:
    ///   - shortestRead: The minimum time of a large read before it is stopped for others.
    ///   - patience: The time that others wait before a large read is stopped.
    package init(shortestRead: Duration = .seconds(3), patience: Duration = .seconds(1)) {
        self.shortestRead = shortestRead
        self.patience = patience
    }

    /// Whether the small results exceed the capacity of their lane, because some turned out larger than expected.
    package var isOverfull: Bool { small.isOverfull }
    package var used: Int { small.used + large.used }

    /// Waits until the budget has room.
    ///
    /// - Throws: `PostgresError` of the kind `cancelled` or `busy`.
    package func reserve(_ bytes: Int) async throws -> RowReservation {
        let (weight, sender, gate) = (min(bytes, Self.capacity), Sender.current, lane(of: bytes))
        if gate.tryEnter(weight: weight, of: sender) { return RowReservation(of: weight, in: self, for: sender) }
        let impatience = gate === large ? Task { try await stopOthers(sender, weight) } : nil
        defer { impatience?.cancel() }
        do {
            try await gate.enter(weight: weight, of: sender)
        } catch is Gate.Full {
            throw PostgresError(.busy, "too many reads are waiting for memory")
        } catch {
            throw PostgresError.cancelled
        }
        return RowReservation(of: weight, in: self, for: sender)
    }

    /// Returns a reservation for rows that have already arrived. It starts at 0 bytes, to be resized without waiting.
    func reservation() -> RowReservation { RowReservation(of: 0, in: self, for: .current) }

    /// Runs a read, and stops it if others have waited too long for memory.
    ///
    /// - Throws: The error of `read`, or `PostgresError` with SQLSTATE 57014 if the read was stopped.
    package func reading<Value: Sendable>(
        _ reservation: RowReservation?, _ read: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let reservation else { return try await read() }
        let id = ObjectIdentifier(reservation)
        reads.withLock { $0[id] = reservation }
        defer { reads.withLock { _ = $0.removeValue(forKey: id) } }
        do {
            return try await reservation.presence.whilePresent(read)
        } catch let error as PostgresError where error.kind == .cancelled && reservation.presence.hasLeft {
            throw PostgresError.stoppedForOthers
        }
    }

    /// Repeatedly stops another sender's longest-running large read, if it is old enough, until the task is cancelled.
    /// Does nothing while the sender waits for its own reads.
    private func stopOthers(_ sender: Sender, _ weight: Int) async throws {
        while true {
            try await Task.sleep(for: patience)
            if large.waitsForItself(weight: weight, of: sender) { continue }
            let now = MonotonicInstant.now
            let longest = reads.withLock { reads in
                reads.values.filter { $0.sender != sender && $0.isLarge && $0.begin.after(shortestRead) <= now }
                    .min { $0.begin < $1.begin }
            }
            longest?.presence.leave()
        }
    }

    fileprivate func lane(of bytes: Int) -> Gate { bytes > Self.maxSmallBytes ? large : small }
}

/// Memory reserved in a ``RowBudget`` until it is released or freed.
package final class RowReservation: Sendable {
    private let budget: RowBudget
    fileprivate let sender: Sender
    fileprivate let begin = MonotonicInstant.now
    fileprivate let presence = CallerPresence()
    /// The reserved bytes, or nil once released.
    private let weight: Mutex<Int?>

    fileprivate init(of weight: Int, in budget: RowBudget, for sender: Sender) {
        self.weight = Mutex(weight)
        self.budget = budget
        self.sender = sender
    }

    deinit { release() }

    fileprivate var isLarge: Bool { weight.withLock { ($0 ?? 0) > RowBudget.maxSmallBytes } }

    package func resize(to bytes: Int) {
        let before = weight.withLock { weight -> Int? in
            guard let before = weight else { return nil }
            weight = bytes
            return before
        }
        guard let before else { return }
        budget.lane(of: bytes).add(weight: bytes, of: sender)
        budget.lane(of: before).leave(weight: before, of: sender)
    }

    package func release() {
        guard let before = weight.withLock({ $0.take() }) else { return }
        budget.lane(of: before).leave(weight: before, of: sender, spending: begin.duration(to: .now))
        if before >= PostgresClient.maxSharedBytes { FreedMemory.record(before) }
    }
}
