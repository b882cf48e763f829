import JSON
import Logging
public import Operations
public import ServerConfiguration
import Synchronization

/// Takes note of the changes that this process makes, and hands them to those who follow them, in their order.
public final class ChangeFeed: ChangeObserver {
    /// What a connection follows.
    enum Topic: Hashable, Sendable {
        /// Changes of objects of a class.
        case objects(Name)
        /// Changes of a user's account and sessions.
        case user(Name)
    }

    private struct Taken: Sendable {
        let change: Change
        let relays: Bool
    }

    /// The most changes that wait to be handed on: handing on is quick, so that more are a fault.
    private static let mostWaiting = 16_384

    private let options: Configuration.LiveQuery
    private let followers = Mutex<[Topic: [ObjectIdentifier: ChangeInbox]]>([:])
    private let taken: AsyncStream<Taken>
    private let continuation: AsyncStream<Taken>.Continuation
    private let logger: Logger

    /// Makes a feed of the classes that a configuration names.
    public init(_ options: Configuration.LiveQuery, logger: Logger) {
        self.options = options
        self.logger = logger
        (taken, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.mostWaiting))
    }

    /// Whether changes of a class are told.
    public func observes(_ className: Name) -> Bool { options.publishes(className) }

    /// Takes note of a change that this process made.
    public func observe(_ change: Change) async { take(Taken(change: change, relays: true)) }

    /// Takes note of a change that another process made.
    func observe(relayed change: Change) { take(Taken(change: change, relays: false)) }

    private func take(_ change: Taken) {
        if case .dropped = continuation.yield(change) {
            logger.error("a change is not told to live queries: too many wait")
            endFollowers(of: Name(change.change.className))
        }
    }

    /// Takes note that there was a change of which nothing is known.
    public func missChange(of className: Name) async { endFollowers(of: className) }

    /// Ends the connections that follow a class: their clients come again, and find what they missed.
    private func endFollowers(of className: Name) {
        for inbox in inboxes(of: .objects(className)) { inbox.miss() }
    }

    /// Takes note that other processes made changes of which nothing is known: all connections that follow classes end.
    func missRelayed() {
        let inboxes = followers.withLock { followers in
            followers.flatMap { topic, inboxes in
                if case .objects = topic { Array(inboxes.values) } else { [ChangeInbox]() }
            }
        }
        for inbox in inboxes { inbox.miss() }
    }

    /// Hands changes on until the task is cancelled.
    ///
    /// - Parameter relay: Tells other processes.
    func run(relay: @Sendable (RelayedChange) -> Void) async {
        for await taken in taken {
            let relayed = RelayedChange(taken.change)
            if taken.relays { relay(relayed) }
            let item = ChangeInbox.Item.change(taken.change, size: relayed.text.utf8.count)
            for inbox in inboxes(of: .objects(Name(taken.change.className))) { inbox.put(item) }
            // The connections tell it on the same threads: they come first, so that a burst of changes does not pile up.
            await Task.yield()
        }
    }

    /// Notes that something about a user changed.
    func note(userChanged id: Name) {
        for inbox in inboxes(of: .user(id)) { inbox.put(.userChanged) }
    }

    /// How long a log-out waits until the clients of the session know that it ended.
    private static let timeToSettle = Duration.seconds(1)

    /// Waits until the connections that follow a user have looked at what was noted, for a short time at most.
    func settle(user id: Name) async {
        let marks = inboxes(of: .user(id)).map { $0.mark() }
        guard !marks.isEmpty else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for mark in marks { for await _ in mark {} } }
            group.addTask { try? await Task.sleep(for: Self.timeToSettle) }
            await group.next()
            group.cancelAll()
        }
    }

    private func inboxes(of topic: Topic) -> [ChangeInbox] {
        followers.withLock { $0[topic].map { Array($0.values) } ?? [] }
    }

    /// Has an inbox told of a topic.
    func add(_ inbox: ChangeInbox, to topic: Topic) {
        followers.withLock { $0[topic, default: [:]][ObjectIdentifier(inbox)] = inbox }
    }

    /// Ends that.
    func remove(_ inbox: ChangeInbox, from topic: Topic) {
        followers.withLock {
            $0[topic]?[ObjectIdentifier(inbox)] = nil
            if $0[topic]?.isEmpty ?? false { $0[topic] = nil }
        }
    }
}
