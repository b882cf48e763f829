import Limits
import NIOCore

/// The watched transfers, the memory that they hold, and the bodies that wait for memory.
package struct TransferState {
    struct Transfer: Sendable {
        var channel: any Channel
        var network: Sender
        var begin: ContinuousClock.Instant
        var kind: TransferTimeout.Kind
        /// The maximum time without progress.
        var stallThreshold: Duration
        /// The time at which the connection is closed unless the transfer makes progress.
        var deadline: ContinuousClock.Instant
        /// The slowest pace that counts as progress, in bytes per second.
        var slowestPace = 512
        /// The bytes transferred so far.
        var moved = 0
        /// The bytes held in memory.
        var held = 0
        /// Whether the transfer is complete and only its memory still counts.
        var isResting = false
        /// Whether the client waits for memory or a response. Such a transfer is closed only to make room for a network
        /// that holds far less memory.
        var isExempt = false
        /// The sender and lane that the memory is reserved for, or nil without a reservation.
        var reserver: (sender: Sender, lane: Lane)?
        /// The transfer's position in a queue for memory, or nil if it doesn't wait.
        var wait: (ticket: SenderQueue<Waiter>.Ticket, lane: Lane)?
        /// The time when the client began to wait for the server, or nil if it doesn't. The wait doesn't count against
        /// the client.
        var pausedSince: ContinuousClock.Instant?

        /// Whether the total time is limited.
        var isBounded: Bool { kind == .body || kind == .answer }
        var isMessage: Bool { kind == .message }

        /// Returns the transfer's age without the time that the client spent waiting for the server.
        func age(at now: ContinuousClock.Instant) -> Duration { (pausedSince ?? now) - begin }

        /// Reduces the maximum time without progress, counted from the last progress.
        mutating func shorten(to threshold: Duration) {
            guard stallThreshold > threshold else { return }
            deadline -= stallThreshold - threshold
            stallThreshold = threshold
        }

        /// Returns the average pace in bytes per second.
        func pace(at now: ContinuousClock.Instant) -> Double {
            Double(moved) / max(0.001, age(at: now) / .seconds(1))
        }
    }

    /// A body that waits for memory. The continuation resumes with true if it got memory, or false if it stopped
    /// waiting.
    struct Waiter: Sendable {
        let number: UInt64
        let bytes: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// A separate queue of bodies that wait for memory.
    package enum Lane: CaseIterable {
        /// Bodies of 1 to 4 MB.
        case large
        case files
        /// Bodies of more than 4 MB, which must leave room for others.
        case giant
    }

    private struct Reserved: Sendable {
        var bytes = 0
        var giantBytes = 0
        var giantsWait = false
        var bySender: [Sender: Int] = [:]

        mutating func add(_ count: Int, of sender: Sender, in lane: Lane) {
            bytes += count
            if lane == .giant { giantBytes += count }
            bySender[sender, default: 0] += count
            if bySender[sender] == 0 { bySender[sender] = nil }
        }

        /// Decides whether bytes can be reserved (`accept`), only this sender must wait (`skip`) or the whole lane must
        /// wait (`stop`). A quarter of the memory is left for bodies that don't wait, half for bodies that aren't
        /// giant, and a quarter for giants that wait. A body that is alone always has room. A sender gets at most three
        /// times as much as is left free, so the next sender finds room even if all its bodies are slow.
        func fits(
            _ count: Int, of sender: Sender, in lane: Lane, _ memory: Int, besides held: Int
        ) -> SenderQueue<Waiter>.Choice {
            let room = memory / 4 * 3 - bytes - count
            let own = bySender[sender, default: 0]
            if own > 0, (own + count) / 3 > room { return .skip }
            let ofLane = lane == .giant ? giantBytes : bytes - giantBytes
            if lane == .giant || giantsWait, ofLane > 0, ofLane + count > memory / 2 { return .stop }
            return bytes == 0 || room >= 0 && held + count <= memory ? .accept : .stop
        }
    }

    var transfers: [UInt64: Transfer] = [:]
    private var holders: Set<UInt64> = []
    private(set) var held = 0
    /// The time of the next search for slow transfers to close.
    private var nextSearch = ContinuousClock.now
    /// The released bytes that haven't been reported yet.
    var freed = 0
    private var reserved = Reserved()
    private var queues: [Lane: SenderQueue<Waiter>] = [:]
    private var heldByNetwork: [Sender: Int] = [:]
    /// Bytes of incomplete WebSocket messages.
    private var messagesByNetwork: [Sender: Int] = [:]
    private var withdrawn: [CheckedContinuation<Bool, Never>] = []
    var lastNumber: UInt64 = 0
    /// Whether the server is shutting down and waits for running requests.
    var isEnding = false

    var waiting: Int { queues.values.reduce(0) { $0 + $1.count } }

    mutating func remove(_ number: UInt64) -> Transfer? {
        withdraw(number)
        guard let transfer = transfers.removeValue(forKey: number) else { return nil }
        if transfer.held > 0 {
            holders.remove(number)
            count(-transfer.held, of: transfer.network)
            if transfer.isMessage { countMessage(-transfer.held, of: transfer.network) }
            if let (sender, lane) = transfer.reserver { reserved.add(-transfer.held, of: sender, in: lane) }
        }
        return transfer
    }

    /// Changes the memory that a transfer holds. Negative values release memory.
    mutating func add(_ bytes: Int, to number: UInt64) {
        guard var transfer = transfers[number] else { return }
        transfer.held += bytes
        transfers[number] = transfer
        count(bytes, of: transfer.network)
        if transfer.isMessage { countMessage(bytes, of: transfer.network) }
        if bytes > 0 { holders.insert(number) }
    }

    private mutating func count(_ bytes: Int, of network: Sender) {
        held += bytes
        if bytes < 0 { freed -= bytes }
        let sum = heldByNetwork[network, default: 0] + bytes
        heldByNetwork[network] = sum > 0 ? sum : nil
    }

    private mutating func countMessage(_ bytes: Int, of network: Sender) {
        let sum = messagesByNetwork[network, default: 0] + bytes
        messagesByNetwork[network] = sum > 0 ? sum : nil
    }

    /// Whether another body of a sender may wait for memory. Limited, because each waiting body keeps its received
    /// bytes in memory.
    func mayWait(_ sender: Sender) -> Bool {
        waiting < Self.maxWaiting && queues.values.reduce(0) { $0 + $1.count(of: sender) } < Self.maxWaiting / 4
    }

    private static let maxWaiting = 1024

    /// Incomplete messages of one network can hold the memory limit divided by this.
    private static let messageDivisor = 4

    /// Whether an incomplete message would exceed the share of its network with the additional bytes.
    func exceedsShare(_ transfer: Transfer, with bytes: Int, _ memory: Int) -> Bool {
        let sum = messagesByNetwork[transfer.network, default: 0]
        return transfer.isMessage && sum > 0 && sum + bytes > memory / Self.messageDivisor
    }

    /// The pause after a search that found no transfers to close.
    private static let searchPause = Duration.milliseconds(50)

    /// If memory is full, ends slow transfers, then those of much heavier networks. Returns the connections to close.
    mutating func makeRoom(
        for bytes: Int, of number: UInt64, _ limits: HTTPServer.Limits, at now: ContinuousClock.Instant
    ) -> [any Channel] {
        guard held + bytes > limits.transferMemory, let network = transfers[number]?.network else { return [] }
        var victims: [any Channel] = []
        func end(_ candidates: [UInt64]) {
            for candidate in candidates where candidate != number && held + bytes > limits.transferMemory {
                if let transfer = remove(candidate) { victims.append(transfer.channel) }
            }
        }
        if nextSearch <= now {
            end(slowest(of: holders, at: now, after: limits.grace))
            if victims.isEmpty { nextSearch = now + Self.searchPause }
        }
        while held + bytes > limits.transferMemory, let heaviest = self.heaviest(beside: network, with: bytes) {
            let before = victims.count
            let own = holders.filter { transfers[$0]?.network == heaviest }
            guard own.count > 1 else { break }
            end(slowest(of: own, at: now, after: .zero, below: .infinity, sparesExempt: false))
            guard victims.count > before else { break }
        }
        return victims
    }

    /// Returns the network that holds the most memory, or nil if it holds less than twice as much as the given network
    /// would with the additional bytes.
    private func heaviest(beside network: Sender, with bytes: Int) -> Sender? {
        let own = heldByNetwork[network, default: 0] + bytes
        return heldByNetwork.max { $0.value < $1.value }.flatMap { $0.value >= 2 * own ? $0.key : nil }
    }

    mutating func append(_ waiter: Waiter, of sender: Sender, in lane: Lane) {
        guard transfers[waiter.number] != nil else { return withdrawn.append(waiter.continuation) }
        transfers[waiter.number]?.wait = (queues[lane, default: SenderQueue()].append(waiter, of: sender), lane)
    }

    /// Removes a body from its queue, if it waits there.
    mutating func withdraw(_ number: UInt64) {
        guard let wait = transfers[number]?.wait, let waiter = queues[wait.lane]?.remove(wait.ticket) else { return }
        withdrawn.append(waiter.continuation)
    }

    /// Dequeues the bodies that get memory now, and those that no longer wait.
    mutating func dequeueReady(_ memory: Int) -> [(continuation: CheckedContinuation<Bool, Never>, hasRoom: Bool)] {
        var ready = withdrawn.map { (continuation: $0, hasRoom: false) }
        withdrawn = []
        for lane in Lane.allCases {
            while let (next, sender) = nextWithRoom(memory, in: lane) {
                add(next.bytes, to: next.number)
                transfers[next.number]?.reserver = (sender, lane)
                reserved.add(transfers[next.number]?.held ?? 0, of: sender, in: lane)
                ready.append((next.continuation, true))
            }
        }
        return ready
    }

    private mutating func nextWithRoom(_ memory: Int, in lane: Lane) -> (element: Waiter, sender: Sender)? {
        guard queues[lane]?.isEmpty == false else { return nil }
        reserved.giantsWait = queues[.giant]?.isEmpty == false
        let (reserved, held) = (reserved, held)
        return queues[lane]?.popFirst { reserved.fits($0.bytes, of: $1, in: lane, memory, besides: held) }
    }

    /// Returns the transfers that hold the memory for which the next body waits. If every waiting sender has reached
    /// its limit, these are only the transfers of those senders. Empty if nothing waits.
    mutating func obstacles(_ memory: Int) -> [UInt64] {
        let (reserved, held) = (reserved, held)
        var waitsForOthers = false
        var limited: Set<Sender> = []
        for lane in Lane.allCases where !waitsForOthers {
            _ = queues[lane]?.popFirst { waiter, sender in
                waitsForOthers = reserved.fits(waiter.bytes, of: sender, in: lane, memory, besides: held) != .skip
                if !waitsForOthers { limited.insert(sender) }
                return waitsForOthers ? .stop : .skip
            }
        }
        return holders.filter { number in
            transfers[number]?.reserver.map { waitsForOthers || limited.contains($0.sender) } ?? false
        }
    }

    /// The pace in bytes per second from which a transfer counts as fast.
    private static let fastPace = 1024.0 * 1024

    /// Returns transfers that are past their grace period and slower than `limit` bytes per second, slowest first.
    func slowest(
        of numbers: some Sequence<UInt64>, at now: ContinuousClock.Instant, after grace: Duration,
        below limit: Double = fastPace, sparesExempt: Bool = true
    ) -> [UInt64] {
        let paces = numbers.compactMap { number -> (number: UInt64, pace: Double)? in
            guard let transfer = transfers[number], !transfer.isResting, !(sparesExempt && transfer.isExempt),
                transfer.age(at: now) >= grace
            else { return nil }
            let pace = transfer.pace(at: now)
            return pace < limit ? (number, pace) : nil
        }
        return paces.sorted { ($0.pace, $0.number) < ($1.pace, $1.number) }.map(\.number)
    }
}
