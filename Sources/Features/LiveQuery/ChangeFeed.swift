import JSON
import Logging
public import Operations
public import ServerConfiguration
import Synchronization

/// Takes note of the changes that this process makes, and hands them to those who follow them, in their order.
public final class ChangeFeed: ChangeObserver {
    /// What a connection follows.
    package enum Topic: Hashable, Sendable {
        case objects(Name)
        /// Changes of a user's account and sessions.
        case user(Name)
    }

    private enum Taken: Sendable {
        case change(Change, relays: Bool)
        /// Of a change of this process nothing is known.
        case loss
        /// What followers of a class know is no longer known; nil for all classes.
        case gap(Name?)
        /// Some have waited long enough for others.
        case timeIsOver
    }

    /// Who is to know of changes.
    private struct Followers {
        var here: [Topic: [ObjectIdentifier: ChangeInbox]] = [:]
        var elsewhere = OtherProcesses()
    }

    /// The queued changes and gaps.
    private struct Queue {
        var count = 0
        var bytes = 0
        /// The gaps that no change of their class follows, so none is added twice.
        var lastGaps: Set<Name?> = []
    }

    /// The most changes that wait to be handed on: handing on is quick, so that more are a fault.
    private static let mostWaiting = 16_384
    /// The most bytes that they take; one change may take more.
    private static let mostBytes = 64 * 1024 * 1024

    private let options: Configuration.LiveQuery
    private let followers = Mutex(Followers())
    private let queue = Mutex(Queue())
    private let taken: AsyncStream<Taken>
    private let continuation: AsyncStream<Taken>.Continuation
    /// Whether other processes are to know that they miss a change.
    private let isLossWaiting = Atomic(false)
    private let hasOthers = Atomic(false)
    private let pendingWrites = PendingWrites()
    private let logger: Logger

    /// Makes a feed of the classes that a configuration names.
    public init(_ options: Configuration.LiveQuery, logger: Logger) {
        self.options = options
        self.logger = logger
        // Only changes are limited, so a gap is never lost.
        (taken, continuation) = AsyncStream.makeStream()
    }

    /// Whether changes of a class are published.
    public func mayObserve(_ className: Name) -> Bool { options.publishes(className) }

    /// Whether changes of a class are reported: it is published, and a connection of this process follows it, or
    /// another process may have subscribers.
    public func observes(_ className: Name) -> Bool {
        guard options.publishes(className) else { return false }
        return followers.withLock { followers in
            followers.here[.objects(className)] != nil || followers.elsewhere.mayListen(at: .now)
        }
    }

    /// Takes note of a change that this process made.
    public func observe(_ change: Change) async { take(change, relays: true) }

    /// Takes note of a change that another process made.
    func observe(relayed change: Change) {
        hasOthers.store(true, ordering: .relaxed)
        take(change, relays: false)
    }

    private func take(_ change: Change, relays: Bool) {
        if append(change, relays: relays) { return }
        logger.error("live query change dropped: queue is full")
        endFollowers(of: Name(change.className))
        if relays { missElsewhere() }
    }

    /// Enqueues a change. Returns false if there is no room for it.
    private func append(_ change: Change, relays: Bool) -> Bool {
        queue.withLock { queue in
            guard queue.count < Self.mostWaiting, queue.bytes == 0 || queue.bytes + change.size <= Self.mostBytes else {
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

    private func noteTaken(_ taken: Taken) {
        queue.withLock { queue in
            switch taken {
            case .change(let change, _):
                queue.count -= 1
                queue.bytes -= change.size
            case .gap(let className): queue.lastGaps.remove(className)
            case .loss, .timeIsOver: break
            }
        }
    }

    /// Takes note that there was a change of which nothing is known.
    public func missChange(of className: Name) async {
        endFollowers(of: className)
        missElsewhere()
    }

    private func missElsewhere() {
        if !isLossWaiting.exchange(true, ordering: .relaxed) { continuation.yield(.loss) }
    }

    /// Takes note that a write begins of which nothing will be reported, as its class has no followers.
    public func beginUnobserved() -> Int { pendingWrites.begin() }

    /// Takes note that such a write is over.
    public func endUnobserved(_ write: Int, of className: Name?) {
        if pendingWrites.end(write) {
            if let className { endFollowers(of: className) } else { missRelayed() }
        }
        guard let className, options.publishes(className) else { return }
        if followers.withLock({ $0.elsewhere.mayMiss(at: .now) }) { missElsewhere() }
    }

    /// Waits for the writes under way that have begun before a connection followed their classes: what its client finds
    /// from then on has their changes.
    func settleWrites() async { await pendingWrites.settle() }

    /// Ends the connections that follow a class: their clients come again, and find what they missed.
    func endFollowers(of className: Name) {
        appendGap(className)
        for inbox in inboxes(of: .objects(className)) { inbox.miss() }
    }

    /// Takes note that other processes made changes of which nothing is known: all connections that follow classes end.
    func missRelayed() {
        let inboxes = followers.withLock { followers in
            followers.here.flatMap { topic, inboxes in
                if case .objects = topic { Array(inboxes.values) } else { [ChangeInbox]() }
            }
        }
        appendGap(nil)
        for inbox in inboxes { inbox.miss() }
    }

    /// Hands changes on until the task is cancelled.
    ///
    /// - Parameter relay: Notifies other processes.
    package func run(relay: @Sendable (RelayedChange) -> Void) async {
        var sequence = ChangeSequence()
        var timer = ContinuousClock.now
        var serial = 0
        for await taken in taken {
            noteTaken(taken)
            if isLossWaiting.exchange(false, ordering: .relaxed) { relay(.none) }
            let now = ContinuousClock.now
            var changes: [Change] = []
            switch taken {
            case .loss: break
            case .gap(let className): sequence.forget(className)
            case .timeIsOver: changes = sequence.takeOverdue(at: now)
            case .change(let change, let relays):
                // It is written only where another process may have subscribers.
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
            // The connections send it on the same threads: they come first, so that a burst of changes does not pile
            // up.
            await Task.yield()
        }
    }

    func note(userChanged id: Name) {
        for inbox in inboxes(of: .user(id)) { inbox.put(.userChanged) }
    }

    /// How long a log-out waits until the clients of the session know that it ended.
    private static let timeToSettle = Duration.seconds(1)

    /// Waits until the connections that follow a user have looked at what was noted, for a short time at most.
    func settle(user id: Name) async {
        await Self.wait(for: inboxes(of: .user(id)), atMost: Self.timeToSettle)
    }

    /// Waits until connections have looked at what is in their inboxes now.
    private static func wait(for inboxes: [ChangeInbox], atMost time: Duration) async {
        let marks = inboxes.map { $0.mark() }
        guard !marks.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for mark in marks { for await _ in mark {} } }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
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
        // From now on changes of it are not noted.
        if isLast, case .objects(let className) = topic { appendGap(className) }
    }

    /// Whether a connection of this process follows anything.
    package var hasFollowers: Bool { followers.withLock { !$0.here.isEmpty } }

    /// Whether a connection of this process follows a class.
    func hasFollowers(of className: Name) -> Bool { followers.withLock { $0.here[.objects(className)] != nil } }

    private var mayRelay: Bool { followers.withLock { $0.elsewhere.mayListen(at: .now) } }

    func note(_ body: (inout OtherProcesses) -> Void) { followers.withLock { body(&$0.elsewhere) } }

    /// Notes that there are other processes, which may make changes.
    func noteOthers() { hasOthers.store(true, ordering: .relaxed) }
}
