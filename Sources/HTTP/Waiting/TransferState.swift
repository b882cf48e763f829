import NIOCore
import Tasks

/// The transfers that are being watched, the memory that they keep, and those who wait for some.
struct TransferState {
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
        /// For whom the memory was reserved; nil where it was not.
        var reserver: Sender?
        /// What names the wait for memory.
        var wait: SenderQueue<Waiter>.Ticket?
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

    private struct Reserved: Sendable {
        var bytes = 0
        var bySender: [Sender: Int] = [:]

        mutating func add(_ count: Int, of sender: Sender) {
            bytes += count
            bySender[sender, default: 0] += count
            if bySender[sender] == 0 { bySender[sender] = nil }
        }

        /// Whether so much more can be reserved. A quarter is left for those who do not wait; one that is alone has
        /// room, however large it is. A sender has at most three times as much as is left free: however many of its
        /// bodies are slow or wait, the next sender finds room.
        func fits(_ count: Int, of sender: Sender, in memory: Int, besides held: Int) -> SenderQueue<Waiter>.Choice {
            let room = memory / 4 * 3 - bytes - count
            let own = bySender[sender, default: 0]
            if own > 0, (own + count) / 3 > room { return .skip }
            return bytes == 0 || room >= 0 && held + count <= memory ? .take : .stop
        }
    }

    var transfers: [UInt64: Transfer] = [:]
    /// Those that keep memory.
    var holders: Set<UInt64> = []
    var held = 0
    private var reserved = Reserved()
    private var queue = SenderQueue<Waiter>()
    /// What waited for a transfer that is over.
    private var withdrawn: [CheckedContinuation<Bool, Never>] = []
    var lastNumber: UInt64 = 0

    var waiting: Int { queue.count }

    mutating func remove(_ number: UInt64) -> Transfer? {
        withdraw(number)
        guard let transfer = transfers.removeValue(forKey: number) else { return nil }
        if transfer.held > 0 {
            holders.remove(number)
            held -= transfer.held
            if let sender = transfer.reserver { reserved.add(-transfer.held, of: sender) }
        }
        return transfer
    }

    /// Puts a body into the queue.
    mutating func append(_ waiter: Waiter, of sender: Sender) {
        guard transfers[waiter.number] != nil else { return withdrawn.append(waiter.continuation) }
        transfers[waiter.number]?.wait = queue.append(waiter, of: sender)
    }

    /// Takes a body out of the queue, if it waits there.
    mutating func withdraw(_ number: UInt64) {
        guard let ticket = transfers[number]?.wait, let waiter = queue.remove(ticket) else { return }
        withdrawn.append(waiter.continuation)
    }

    /// Takes those out of the queue whose turn it is, and those whose transfers are over.
    mutating func takeReady(_ memory: Int) -> [(continuation: CheckedContinuation<Bool, Never>, hasRoom: Bool)] {
        var ready = withdrawn.map { (continuation: $0, hasRoom: false) }
        withdrawn = []
        while let (next, sender) = nextWithRoom(memory) {
            transfers[next.number]?.held += next.bytes
            transfers[next.number]?.reserver = sender
            held += next.bytes
            reserved.add(next.bytes, of: sender)
            holders.insert(next.number)
            ready.append((next.continuation, true))
        }
        return ready
    }

    private mutating func nextWithRoom(_ memory: Int) -> (element: Waiter, sender: Sender)? {
        guard !queue.isEmpty else { return nil }
        let (reserved, held) = (reserved, held)
        return queue.popFirst { reserved.fits($0.bytes, of: $1, in: memory, besides: held) }
    }

    /// Whose memory would make room for the one whose turn it is: that of all senders, or, where all that wait have as
    /// much as a sender may have, what they have themselves. Empty when nothing waits for memory.
    mutating func obstacles(_ memory: Int) -> [UInt64] {
        let (reserved, held) = (reserved, held)
        var waitsForOthers = false
        var limited: Set<Sender> = []
        _ = queue.popFirst { waiter, sender in
            waitsForOthers = reserved.fits(waiter.bytes, of: sender, in: memory, besides: held) != .skip
            if !waitsForOthers { limited.insert(sender) }
            return waitsForOthers ? .stop : .skip
        }
        return holders.filter { number in
            transfers[number]?.reserver.map { waitsForOthers || limited.contains($0) } ?? false
        }
    }
}
