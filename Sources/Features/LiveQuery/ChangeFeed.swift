import JSON
import Limits
import Logging
public import Operations
public import ServerConfiguration
import Synchronization

/// Delivers object changes of all processes to the connections and console watches that follow them, in commit order
/// per object. A change that arrives too late is delivered out of order.
public final class ChangeFeed: ChangeObserver {
    /// A topic that a connection can follow.
    package enum Topic: Hashable, Sendable {
        case objects(Name)
        /// Changes of a user's account and sessions.
        case user(Name)
    }

    private enum Entry: Sendable {
        case change(Change, relays: Bool)
        /// Other processes may have missed a change that this process made.
        case loss
        /// Changes of the class, or of all classes if nil, may have been missed.
        case gap(Name?)
        /// Changes that wait for a preceding one may be overdue.
        case timeIsOver
    }

    private struct Followers {
        var here: [Topic: [ObjectIdentifier: ChangeInbox]] = [:]
        var elsewhere = OtherProcesses()
    }

    private struct Queue {
        var count = 0
        var bytes = 0
        /// The gaps queued after the latest change of their class. They needn't be queued again.
        var lastGaps: Set<Name?> = []
    }

    /// The maximum number of queued changes. They are delivered quickly, so a longer queue indicates a fault.
    private static let maxWaiting = 16_384
    /// The maximum size in bytes of queued changes. A single change may exceed it.
    private static let maxBytes = 64 * 1024 * 1024

    private let options: Configuration.LiveQuery
    private let followers = Mutex(Followers())
    private let queue = Mutex(Queue())
    private let entries: AsyncStream<Entry>
    private let continuation: AsyncStream<Entry>.Continuation
    private let isLossWaiting = Atomic(false)
    private let hasOthers = Atomic(false)
    private let pendingWrites = PendingWrites()
    private let logger: Logger

    public init(_ options: Configuration.LiveQuery, logger: Logger) {
        self.options = options
        self.logger = logger
        // The buffer is unbounded, because a gap must never be lost. Only changes are limited.
        (entries, continuation) = AsyncStream.makeStream()
    }

    /// Returns whether changes of a class are published.
    public func mayObserve(_ className: Name) -> Bool { options.publishes(className) }

    /// Returns whether changes of a class must be reported: it is published, and this process has followers of it or
    /// another process may have subscribers of any class.
    public func observes(_ className: Name) -> Bool {
        guard options.publishes(className) else { return false }
        return followers.withLock { followers in
            followers.here[.objects(className)] != nil || followers.elsewhere.mayListen(at: .now)
        }
    }

    /// Queues a change that this process made.
    public func observe(_ change: Change) async { enqueue(change, relays: true) }

    /// Queues a change that another process made.
    func observe(relayed change: Change) {
        hasOthers.store(true, ordering: .relaxed)
        enqueue(change, relays: false)
    }

    private func enqueue(_ change: Change, relays: Bool) {
        if append(change, relays: relays) { return }
        logger.error("live query change dropped: queue is full")
        endFollowers(of: Name(change.className))
        if relays { missElsewhere() }
    }

    /// Enqueues a change. Returns false if the queue is full.
    private func append(_ change: Change, relays: Bool) -> Bool {
        queue.withLock { queue in
            guard queue.count < Self.maxWaiting, queue.bytes == 0 || queue.bytes + change.size <= Self.maxBytes else {
                return false
            }
            queue.count += 1
            queue.bytes += change.size
            queue.lastGaps.remove(Name(change.className))
            queue.lastGaps.remove(nil)
            continuation.yield(.change(change, relays: relays))
            return true
        }
    }

    /// Enqueues a gap, unless the same one already follows all changes of the class.
    private func appendGap(_ className: Name?) {
        queue.withLock { queue in
            if queue.lastGaps.insert(className).inserted { continuation.yield(.gap(className)) }
        }
    }

    private func recordDequeued(_ entry: Entry) {
        queue.withLock { queue in
            switch entry {
            case .change(let change, _):
                queue.count -= 1
                queue.bytes -= change.size
            case .gap(let className): queue.lastGaps.remove(className)
            case .loss, .timeIsOver: break
            }
        }
    }

    /// Disconnects the followers of a class in this process, and all followers in other processes, because a change was
    /// lost. Their clients reconnect and query again.
    public func missChange(of className: Name) async {
        endFollowers(of: className)
        missElsewhere()
    }

    private func missElsewhere() {
        if !isLossWaiting.exchange(true, ordering: .relaxed) { continuation.yield(.loss) }
    }

    /// Records the start of a write that won't be reported because its class has no followers. Returns the id for
    /// ``endUnobserved(_:of:)``.
    public func beginUnobserved() -> Int { pendingWrites.begin() }

    /// Records the end of a write begun with ``beginUnobserved()``. Disconnects followers that may have missed it.
    public func endUnobserved(_ write: Int, of className: Name?) {
        if pendingWrites.end(write) {
            if let className { endFollowers(of: className) } else { missRelayed() }
        }
        guard let className, options.publishes(className) else { return }
        if followers.withLock({ $0.elsewhere.mayMiss(at: .now) }) { missElsewhere() }
    }

    /// Waits up to a second for the running writes that weren't reported because their classes had no followers, so that
    /// the client's next query includes their changes.
    func settleWrites() async { await pendingWrites.settle() }

    /// Disconnects the followers of a class. Their clients reconnect and query again.
    func endFollowers(of className: Name) {
        appendGap(className)
        for inbox in inboxes(of: .objects(className)) { inbox.miss() }
    }

    /// Disconnects all followers of classes because changes may have been lost.
    func missRelayed() {
        let inboxes = followers.withLock { followers in
            followers.here.flatMap { topic, inboxes in
                if case .objects = topic { Array(inboxes.values) } else { [ChangeInbox]() }
            }
        }
        appendGap(nil)
        for inbox in inboxes { inbox.miss() }
    }

    /// Delivers changes until the task is cancelled.
    ///
    /// - Parameter relay: Sends a change to the other processes.
    package func run(relay: @Sendable (RelayedChange) -> Void) async {
        var sequence = ChangeSequence()
        var timer = ContinuousClock.now
        var serial = 0
        for await entry in entries {
            recordDequeued(entry)
            if isLossWaiting.exchange(false, ordering: .relaxed) { relay(.none) }
            let now = ContinuousClock.now
            var changes: [Change] = []
            switch entry {
            case .loss: break
            case .gap(let className): sequence.forget(className)
            case .timeIsOver: changes = sequence.removeOverdue(at: now)
            case .change(let change, let relays):
                // Serializes the change only if another process may have subscribers.
                if relays, mayRelay { relay(RelayedChange(change)) }
                if hasFollowers(of: Name(change.className)) {
                    changes = sequence.add(change, mayBeLate: hasOthers.load(ordering: .relaxed), at: now)
                }
            }
            for var change in changes {
                serial += 1
                change.serial = serial
                let inboxes = inboxes(of: .objects(Name(change.className)))
                for inbox in inboxes { inbox.put(.change(change, size: change.size)) }
            }
            if let next = sequence.nextDeadline, timer <= now || next < timer {
                timer = next
                Task { [continuation] in
                    try? await Task.sleep(until: next)
                    continuation.yield(.timeIsOver)
                }
            }
            // Lets the connections send first, on the same threads, so that a burst of changes doesn't pile up.
            await Task.yield()
        }
    }

    func notify(userChanged id: Name) {
        for inbox in inboxes(of: .user(id)) { inbox.put(.userChanged) }
    }

    /// The maximum delay of a log-out while clients are notified that the session ended.
    private static let timeToSettle = Duration.seconds(1)

    /// Waits until the connections that follow a user have processed their queued changes, for at most a second.
    func settle(user id: Name) async {
        let marks = inboxes(of: .user(id)).map { $0.mark() }
        guard !marks.isEmpty else { return }
        await withTimeLimit(Self.timeToSettle) { for mark in marks { for await _ in mark {} } }
    }

    private func inboxes(of topic: Topic) -> [ChangeInbox] {
        followers.withLock { $0.here[topic].map { Array($0.values) } ?? [] }
    }

    package func add(_ inbox: ChangeInbox, to topic: Topic) {
        followers.withLock { $0.here[topic, default: [:]][ObjectIdentifier(inbox)] = inbox }
    }

    package func remove(_ inbox: ChangeInbox, from topic: Topic) {
        let isLast = followers.withLock { followers in
            followers.here[topic]?[ObjectIdentifier(inbox)] = nil
            guard followers.here[topic]?.isEmpty ?? false else { return false }
            followers.here[topic] = nil
            return true
        }
        // `run` now skips changes of the class, so its remembered objects become outdated.
        if isLast, case .objects(let className) = topic { appendGap(className) }
    }

    package var hasFollowers: Bool { followers.withLock { !$0.here.isEmpty } }

    func hasFollowers(of className: Name) -> Bool { followers.withLock { $0.here[.objects(className)] != nil } }

    private var mayRelay: Bool { followers.withLock { $0.elsewhere.mayListen(at: .now) } }

    func updateOthers(_ body: (inout OtherProcesses) -> Void) { followers.withLock { body(&$0.elsewhere) } }

    /// Records that other processes exist, so that changes may arrive out of order.
    func recordOthers() { hasOthers.store(true, ordering: .relaxed) }
}
