import Collections
import NIOCore

/// The transfers that are being watched, the memory that they keep, and those who wait for some.
struct TransferState: Sendable {
    /// A body, or an answer.
    struct Transfer: Sendable {
        var channel: any Channel
        var begin: ContinuousClock.Instant
        /// How long it may stand still.
        var stallThreshold: Duration
        /// When it is closed unless it moves on.
        var deadline: ContinuousClock.Instant
        /// Whether it may not go on for ever.
        var isBounded: Bool
        /// The bytes that went over the connection.
        var moved = 0
        /// The bytes that it keeps in memory.
        var held = 0
        /// Whether the client has done its part.
        var isResting = false
        /// Whether the memory was reserved.
        var isReserved = false
        /// Since when the client waits for the server, which is no time of the client's.
        var pausedSince: ContinuousClock.Instant?

        /// How long the client has had.
        func age(at now: ContinuousClock.Instant) -> Duration { (pausedSince ?? now) - begin }

        /// Bytes a second since it began.
        func pace(at now: ContinuousClock.Instant) -> Double {
            Double(moved) / max(0.001, age(at: now) / .seconds(1))
        }
    }

    /// A body that waits for memory, and gets whether it has it.
    struct Waiter: Sendable {
        let number: UInt64
        let bytes: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    var transfers: [UInt64: Transfer] = [:]
    /// Those that keep memory.
    var holders: Set<UInt64> = []
    var held = 0
    /// The part of it that was reserved.
    var reserved = 0
    var waiters = Deque<Waiter>()
    var lastNumber: UInt64 = 0

    mutating func remove(_ number: UInt64) -> Transfer? {
        guard let transfer = transfers.removeValue(forKey: number) else { return nil }
        if transfer.held > 0 {
            holders.remove(number)
            held -= transfer.held
            if transfer.isReserved { reserved -= transfer.held }
        }
        return transfer
    }

    /// Whether so much can be reserved. A quarter is left for those who do not wait; one that is alone has room,
    /// however large it is.
    func hasRoom(for bytes: Int, of memory: Int) -> Bool {
        reserved == 0 || reserved + bytes <= memory / 4 * 3 && held + bytes <= memory
    }

    /// Takes those out of the queue whose turn it is, and those whose connections are closed.
    mutating func takeReady(_ memory: Int) -> [(continuation: CheckedContinuation<Bool, Never>, hasRoom: Bool)] {
        var ready: [(continuation: CheckedContinuation<Bool, Never>, hasRoom: Bool)] = []
        while let next = waiters.first {
            let isThere = transfers[next.number] != nil
            guard !isThere || hasRoom(for: next.bytes, of: memory) else { break }
            if isThere { reserve(next.bytes, for: next.number) }
            ready.append((waiters.removeFirst().continuation, isThere))
        }
        return ready
    }

    mutating func reserve(_ bytes: Int, for number: UInt64) {
        transfers[number]?.held += bytes
        transfers[number]?.isReserved = true
        held += bytes
        reserved += bytes
        holders.insert(number)
    }
}
