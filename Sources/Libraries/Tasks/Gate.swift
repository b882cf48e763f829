import Synchronization

/// Lets in so much work at a time; the rest waits, round robin by sender, or by the time that senders took.
///
/// What waits leaves the line when its task is cancelled or its caller goes away, so that no work is done without a
/// caller, and none waits behind it.
public final class Gate: Sendable {
    /// Why work was not let in.
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
    private let mostWaiting: Int
    private let waitingShare: Int
    private let state = Mutex(State())

    /// Makes a gate.
    ///
    /// - Parameters:
    ///   - capacity: The weight of all that is let in at a time. What weighs more is let in alone.
    ///   - share: The weight of what is let in of one sender at a time.
    ///   - leavesRoom: Whether a sender has at most three times as much as is left free: three quarters where it is
    ///     alone, and less the more there are. However many wait for themselves then, the next one finds room.
    ///   - countsTime: Whether of those that wait the sender comes first whose work took the least time, as far as it
    ///     was done by ``run(weight:of:_:)``: one that asks for little does not wait for a turn of each that asks for a
    ///     lot.
    ///   - mostWaiting: How many may wait.
    ///   - waitingShare: How many of one sender may wait.
    public init(
        capacity: Int, share: Int = .max, leavesRoom: Bool = false, countsTime: Bool = false,
        mostWaiting: Int = .max, waitingShare: Int = .max
    ) {
        self.capacity = capacity
        self.share = share
        self.leavesRoom = leavesRoom
        self.countsTime = countsTime
        self.mostWaiting = mostWaiting
        self.waitingShare = waitingShare
    }

    /// The weight of what is inside now.
    public var used: Int { state.withLock { $0.load.used } }
    /// Whether more is inside than there is room for, since something turned out to weigh more than was said.
    public var isOverfull: Bool { used > capacity }
    /// How many wait now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Whether a sender's work is kept out by the share that the sender itself uses.
    public func waitsForItself(weight: Int, of sender: Sender) -> Bool {
        state.withLock { state in
            let own = state.load.usedBySender[sender, default: 0]
            return own > 0 && own + weight > share
        }
    }

    /// Runs `body` when there is room for it.
    ///
    /// - Parameters:
    ///   - weight: What it weighs: 1 for gates that count, bytes for gates that weigh.
    ///   - sender: On whose behalf it runs.
    /// - Throws: What `body` throws; `CancellationError` when the task was cancelled, or the caller left, before it was
    ///   let in; ``Full`` when too many wait.
    public nonisolated(nonsending) func run<R>(
        weight: Int = 1, of sender: Sender = .current, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        try await enter(weight: weight, of: sender)
        let begin = countsTime ? ContinuousClock.now : nil
        defer { leave(weight: weight, of: sender, spending: begin.map { .now - $0 } ?? .zero) }
        return try await body()
    }

    /// Waits until there is room. The caller that was let in calls ``leave(weight:of:)`` once with the same arguments.
    ///
    /// - Throws: `CancellationError` when the task was cancelled, or the caller left, before; ``Full`` when too many
    ///   wait.
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

    /// Enters if there is room now and no other caller waits for it.
    ///
    /// - Returns: Whether it entered; then ``leave(weight:of:)`` is owed.
    public func tryEnter(weight: Int = 1, of sender: Sender = .current) -> Bool {
        state.withLock { state in
            guard state.waiting.isEmpty, fits(weight, of: sender, beside: state.load) == .take else { return false }
            state.load.add(weight, of: sender)
            return true
        }
    }

    /// Counts what is inside already, whether there is room for it or not; ``leave(weight:of:)`` is owed.
    public func add(weight: Int, of sender: Sender) {
        state.withLock { $0.load.add(weight, of: sender) }
    }

    /// Gives back what ``enter(weight:of:)`` took; those who wait and for whom there is room now enter.
    ///
    /// - Parameter time: The time that the sender held the slot, for a gate that counts time.
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
        // One that waits for itself keeps no other from entering.
        if own > 0, weight > share - own { return .skip }
        if own > 0, leavesRoom, (own + weight) / 3 > capacity - load.used - weight { return .skip }
        return load.used > 0 && weight > capacity - load.used ? .stop : .take
    }

    private func admitWaiting(_ state: inout State) -> [CheckedContinuation<Void, any Error>] {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        while let next = nextToAdmit(&state) {
            state.load.add(next.element.weight, of: next.sender)
            admitted.append(next.element.continuation)
        }
        return admitted
    }

    private func nextToAdmit(_ state: inout State) -> (element: Waiter, sender: Sender)? {
        guard countsTime else { return next(in: &state.waiting, state.load) }
        guard let next = next(in: &state.waiting, state.load, state.spent) else { return nil }
        state.spent.admit(next.sender)
        return next
    }

    private func next(in waiting: inout SenderQueue<Waiter>, _ load: Load, _ spent: SpentTime? = nil)
        -> (element: Waiter, sender: Sender)?
    {
        waiting.popFirst(by: spent.map { spent in { spent[$0] } }) { waiter, sender in
            fits(waiter.weight, of: sender, beside: load)
        }
    }

    /// Enqueues a waiter, and admits it if it's next.
    ///
    /// - Returns: Its ticket, or nil if it was rejected because too many wait.
    private func line(up waiter: Waiter, of sender: Sender) -> SenderQueue<Waiter>.Ticket? {
        var admitted: [CheckedContinuation<Void, any Error>] = []
        let ticket = state.withLock { state -> SenderQueue<Waiter>.Ticket? in
            let mayWait = state.waiting.count < mostWaiting && state.waiting.count(of: sender) < waitingShare
            let ticket = state.waiting.append(waiter, of: sender)
            // Those that wait may wait for themselves, and this one enter at once.
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
