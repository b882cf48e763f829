import Synchronization

/// Limits concurrent work. Waiting work is admitted round robin by sender, or by the time that each sender has used.
///
/// Waiting work leaves the queue if its task is cancelled or its caller disconnects.
public final class Gate: Sendable {
    /// The error if too many calls are already waiting.
    public struct Full: Error {}

    private struct Waiter {
        let weight: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Load {
        var used = 0
        var usedBySender: [Sender: Int] = [:]

        mutating func add(_ weight: Int, of sender: Sender) {
            used += weight
            usedBySender[sender, default: 0] += weight
        }

        mutating func remove(_ weight: Int, of sender: Sender) {
            used -= weight
            let rest = usedBySender[sender, default: 0] - weight
            usedBySender[sender] = rest > 0 ? rest : nil
        }
    }

    private struct State {
        var load = Load()
        var waiting = SenderQueue<Waiter>()
        var spent = SpentTime()
    }

    private let capacity: Int
    private let share: Int
    private let leavesRoom: Bool
    private let countsTime: Bool
    private let maxWaiting: Int
    private let waitingShare: Int
    private let state = Mutex(State())

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - capacity: Maximum total weight of running work. Heavier work runs alone.
    ///   - share: Maximum total weight of one sender's running work, unless that is a single piece.
    ///   - leavesRoom: Whether a sender may use at most three times the weight that remains free: three quarters of the
    ///     capacity if it is alone, less if there are others. So a new sender always finds room.
    ///   - countsTime: Whether the sender that has used the least time goes first. So a sender with little work doesn't
    ///     wait for a turn of each busy sender.
    ///   - maxWaiting: Maximum number of waiting calls.
    ///   - waitingShare: Maximum number of waiting calls per sender.
    public init(
        capacity: Int, share: Int = .max, leavesRoom: Bool = false, countsTime: Bool = false,
        maxWaiting: Int = .max, waitingShare: Int = .max
    ) {
        self.capacity = capacity
        self.share = share
        self.leavesRoom = leavesRoom
        self.countsTime = countsTime
        self.maxWaiting = maxWaiting
        self.waitingShare = waitingShare
    }

    /// The total weight of running work.
    public var used: Int { state.withLock { $0.load.used } }
    /// Whether the running work exceeds the capacity, because some is heavier than expected or than the whole capacity.
    public var isOverfull: Bool { used > capacity }
    /// The number of waiting calls.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Returns whether a sender's own running work leaves too little of its share for work of this weight.
    public func waitsForItself(weight: Int, of sender: Sender) -> Bool {
        state.withLock { state in
            let own = state.load.usedBySender[sender, default: 0]
            return own > 0 && own + weight > share
        }
    }

    /// Waits for room and runs `body`.
    ///
    /// - Parameters:
    ///   - weight: The weight of the work: 1 for gates that count, bytes for gates that limit memory.
    ///   - sender: The sender whose share the work uses.
    /// - Throws: The errors of `body`, `CancellationError` if the task is cancelled or the caller disconnects while
    ///   waiting, or ``Full`` if too many wait.
    public nonisolated(nonsending) func run<R>(
        weight: Int = 1, of sender: Sender = .current, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await enter(weight: weight, of: sender)
        let begin = countsTime ? ContinuousClock.now : nil
        defer { leave(weight: weight, of: sender, spending: begin.map { .now - $0 } ?? .zero) }
        return try await body()
    }

    /// Waits for room. Afterward the caller must call ``leave(weight:of:spending:)`` once with the same arguments.
    ///
    /// - Throws: `CancellationError` if the task is cancelled or the caller disconnects while waiting, or ``Full`` if
    ///   too many wait.
    public nonisolated(nonsending) func enter(weight: Int = 1, of sender: Sender = .current) async throws {
        guard !tryEnter(weight: weight, of: sender) else { return }
        let presence = CallerPresence.current
        let wait = Wait(at: self, of: sender)
        let departure = presence?.onLeaving { wait.abandon() }
        defer { if let departure { presence?.forget(departure) } }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait.begin(weight: weight, $0) }
        } onCancel: {
            wait.abandon()
        }
    }

    /// Enters if there is room and nothing waits.
    ///
    /// - Returns: Whether it entered. If so, the caller must call ``leave(weight:of:spending:)``.
    public func tryEnter(weight: Int = 1, of sender: Sender = .current) -> Bool {
        state.withLock { state in
            guard state.waiting.isEmpty, fits(weight, of: sender, beside: state.load) == .accept else { return false }
            state.load.add(weight, of: sender)
            return true
        }
    }

    /// Enters with as much of `weight` as fits, without waiting. Ignores waiting work and the sender's share.
    ///
    /// - Returns: The weight that entered, which may be 0. The caller must call ``leave(weight:of:spending:)`` with it.
    public func enter(upTo weight: Int, of sender: Sender = .current) -> Int {
        state.withLock { state in
            let entered = max(0, min(weight, capacity - state.load.used))
            state.load.add(entered, of: sender)
            return entered
        }
    }

    /// Adds running work regardless of the capacity. The caller must call ``leave(weight:of:spending:)`` later.
    public func add(weight: Int, of sender: Sender) {
        state.withLock { $0.load.add(weight, of: sender) }
    }

    /// Releases the room of work that has entered or was added, and admits waiting work that now fits.
    ///
    /// - Parameter time: The duration of the work, for a gate that counts time.
    public func leave(weight: Int = 1, of sender: Sender = .current, spending time: Duration = .zero) {
        let admitted = state.withLock { state in
            if time > .zero { state.spent.add(time, to: sender) }
            state.load.remove(weight, of: sender)
            return admitWaiting(&state)
        }
        for continuation in admitted { continuation.resume() }
    }

    private func fits(_ weight: Int, of sender: Sender, beside load: Load) -> SenderQueue<Waiter>.Choice {
        let own = load.usedBySender[sender, default: 0]
        // A sender at its own limit doesn't block other senders.
        if own > 0, weight > share - own { return .skip }
        if own > 0, leavesRoom, (own + weight) / 3 > capacity - load.used - weight { return .skip }
        return load.used > 0 && weight > capacity - load.used ? .stop : .accept
    }

    private func admitWaiting(_ state: inout State) -> [CheckedContinuation<Void, any Error>] {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        while !state.waiting.isEmpty, let next = nextToAdmit(&state) {
            state.load.add(next.element.weight, of: next.sender)
            admitted.append(next.element.continuation)
        }
        return admitted
    }

    private func nextToAdmit(_ state: inout State) -> (element: Waiter, sender: Sender)? {
        let (load, spent) = (state.load, state.spent)
        let next = state.waiting.popFirst(by: countsTime ? { spent[$0] } : nil) { waiter, sender in
            fits(waiter.weight, of: sender, beside: load)
        }
        if countsTime, let next { state.spent.admit(next.sender) }
        return next
    }

    /// Enqueues a waiter and admits it if it's next.
    ///
    /// - Returns: Its ticket, or nil if it was rejected because too many wait.
    private func line(up waiter: Waiter, of sender: Sender) -> SenderQueue<Waiter>.Ticket? {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        let ticket = state.withLock { state -> SenderQueue<Waiter>.Ticket? in
            let mayWait = state.waiting.count < maxWaiting && state.waiting.count(of: sender) < waitingShare
            let ticket = state.waiting.append(waiter, of: sender)
            // If all others are blocked by their own sender's limit, this one may enter immediately.
            admitted = admitWaiting(&state)
            return mayWait || state.waiting.remove(ticket) == nil ? ticket : nil
        }
        if ticket == nil { waiter.continuation.resume(throwing: Full()) }
        for continuation in admitted { continuation.resume() }
        return ticket
    }

    private func abandon(_ ticket: SenderQueue<Waiter>.Ticket) {
        let (waiter, admitted) = state.withLock { state in (state.waiting.remove(ticket), admitWaiting(&state)) }
        waiter?.continuation.resume(throwing: CancellationError())
        for continuation in admitted { continuation.resume() }
    }

    private final class Wait: Sendable {
        private enum Phase {
            case notBegun
            case inLine(SenderQueue<Waiter>.Ticket)
            case over
        }

        private let gate: Gate
        private let sender: Sender
        private let phase = Mutex(Phase.notBegun)

        init(at gate: Gate, of sender: Sender) {
            self.gate = gate
            self.sender = sender
        }

        func begin(weight: Int, _ continuation: CheckedContinuation<Void, any Error>) {
            let isOver = phase.withLock { phase in
                guard case .notBegun = phase else { return true }
                let ticket = gate.line(up: Waiter(weight: weight, continuation: continuation), of: sender)
                phase = ticket.map { .inLine($0) } ?? .over
                return false
            }
            if isOver { continuation.resume(throwing: CancellationError()) }
        }

        func abandon() {
            let last = phase.withLock { phase in
                defer { phase = .over }
                return phase
            }
            if case .inLine(let ticket) = last { gate.abandon(ticket) }
        }
    }
}
