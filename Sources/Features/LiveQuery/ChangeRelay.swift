import JSON
import Limits
import Logging
import Operations
import Postgres
import Synchronization

/// Exchanges changes with the other processes on the same database through PostgreSQL notifications.
struct ChangeRelay: Sendable {
    private typealias Waiting = (change: RelayedChange, number: Int)

    private static let channel = "roost.change"
    /// The maximum size in bytes of queued changes while the database is slow or unavailable.
    private static let maxBytes = 64 * 1024 * 1024
    /// The maximum bytes per round trip. Larger batches would count as large writes and queue behind clients' writes.
    private static let batchBytes = 512 * 1024

    /// The time for the database to recover before the loss is announced.
    private static let timeToRecover = Duration.seconds(1)
    /// The time that the first clients wait for the listening connection. A client that is admitted without it is
    /// disconnected once listening begins, because it may have missed changes.
    private static let timeToListen = Duration.seconds(5)

    private let client: PostgresClient
    private let feed: ChangeFeed
    private let read: Read
    private let sender = Identifiers.hexadecimal(16)
    private let queue = Queue()
    private let presence = Presence()
    private let logger: Logger

    private final class Queue: Sendable {
        struct State {
            var waiting: [Waiting] = []
            var bytes = 0
            var lastNumber = 0

            mutating func append(_ change: RelayedChange) {
                bytes += change.text.utf8.count
                lastNumber += 1
                waiting.append((change, lastNumber))
            }

            /// Skips a number and announces the next one, so that other processes notice the loss.
            mutating func appendLoss() {
                lastNumber += 1
                if waiting.last?.change.text != RelayedChange.none.text { append(.none) }
            }
        }

        let state = Mutex(State())
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    private final class Presence: Sendable {
        private let last = Mutex<ContinuousClock.Instant?>(nil)
        /// Whether the listening connection was ever established.
        let hasListened = Atomic(false)
        let (signals, signal) = AsyncStream.makeStream(
            of: OtherProcesses.Announcement.self, bufferingPolicy: .bufferingNewest(16))

        func isRecent(within time: Duration) -> Bool {
            last.withLock { last in last.map { .now - $0 < time } ?? false }
        }

        /// Records an announcement of this process.
        ///
        /// - Returns: Whether other processes may have forgotten this process since its previous announcement.
        func record(announcedAt now: ContinuousClock.Instant) -> Bool {
            last.withLock { last in
                defer { last = now }
                return last.map { .now - $0 >= OtherProcesses.memory - OtherProcesses.interval } ?? false
            }
        }
    }

    /// A function that reads the current state of an object, or returns nil if the object doesn't exist.
    typealias Read = @Sendable (String, String) async throws -> (object: JSONObject, place: GatePlace?)?

    /// - Parameter read: Reads an object that is too large for a notification.
    init(client: PostgresClient, feed: ChangeFeed, read: @escaping Read, logger: Logger) {
        self.client = client
        self.feed = feed
        self.read = read
        self.logger = logger
    }

    /// Queues a change for other processes, or announces a loss if it is ``RelayedChange/none`` or the queue is full.
    func send(_ change: RelayedChange) {
        let fits = queue.state.withLock { state in
            if change.text == RelayedChange.none.text {
                state.appendLoss()
                return true
            }
            let size = change.text.utf8.count
            guard state.bytes == 0 || state.bytes + size <= Self.maxBytes else {
                state.appendLoss()
                return false
            }
            state.append(change)
            return true
        }
        if fits {
            queue.signal.yield()
        } else {
            logger.error("change not sent to other processes: queue is full")
        }
    }

    /// Sends and receives changes until the task is cancelled.
    ///
    /// - Parameter hasClients: Returns whether this process has live-query clients or console watches.
    func run(hasClients: @escaping @Sendable () -> Bool) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await announce() }
            group.addTask { await listen() }
            group.addTask {
                while (try? await Task.sleep(for: OtherProcesses.interval)) != nil { presence.signal.yield(.here) }
            }
            group.addTask {
                for await announcement in presence.signals where announcement == .who || hasClients() {
                    do {
                        try await announce(announcement)
                    } catch {
                        logger.warning(
                            "can't announce live queries to other processes", metadata: ["error": "\(error)"])
                    }
                }
            }
        }
    }

    /// Announces to other processes that this one has clients, unless it did so recently. First waits up to 5 s for the
    /// listening connection.
    ///
    /// - Throws: `PostgresError` if the announcement failed, or `CancellationError`.
    func announceClients() async throws {
        let end = ContinuousClock.now + Self.timeToListen
        while !presence.hasListened.load(ordering: .relaxed), .now < end {
            try await Task.sleep(for: .milliseconds(50))
        }
        if presence.isRecent(within: OtherProcesses.interval) { return }
        try await announce(.here)
        try? await Task.sleep(for: OtherProcesses.grace)
    }

    private func announce(_ announcement: OtherProcesses.Announcement) async throws {
        let began = ContinuousClock.now
        try await client.notify(channel: Self.channel, payloads: [announcement.text(of: sender)])
        guard announcement == .here else { return feed.updateOthers { $0.recordQuestion(at: .now) } }
        // If this process was suspended or the database was unavailable, others may have stopped relaying changes to
        // it.
        if presence.record(announcedAt: began) { feed.missRelayed() }
    }

    private func announce() async {
        for await _ in queue.signals {
            while let batch = next() {
                do {
                    try await client.notify(
                        channel: Self.channel,
                        payloads: batch.flatMap { $0.change.pieces(sender: sender, number: $0.number) })
                } catch {
                    if Task.isCancelled { return }
                    logger.warning(
                        "changes not sent to other processes",
                        metadata: ["changes": "\(batch.count)", "error": "\(error)"])
                    try? await Task.sleep(for: Self.timeToRecover)
                    queue.state.withLock { $0.appendLoss() }
                }
            }
        }
    }

    private func next() -> [Waiting]? {
        queue.state.withLock { state in
            var size = 0
            let count =
                state.waiting.firstIndex { waiting in
                    size += waiting.change.text.utf8.count
                    return size > Self.batchBytes
                } ?? state.waiting.count
            guard !state.waiting.isEmpty else { return nil }
            let batch = Array(state.waiting.prefix(max(1, count)))
            state.waiting.removeFirst(batch.count)
            state.bytes -= batch.reduce(0) { $0 + $1.change.text.utf8.count }
            return batch
        }
    }

    private func listen() async {
        var pieces = RelayedPieces(ownSender: sender)
        for await event in client.listen(channels: [Self.channel]) {
            switch event {
            case .connected:
                pieces.reset()
                feed.updateOthers { $0.beginHearing(at: .now) }
                presence.signal.yield(.who)
                presence.signal.yield(.here)
                // Changes that other processes relayed while this one was disconnected are lost.
                feed.missRelayed()
                presence.hasListened.store(true, ordering: .relaxed)
            case .disconnected:
                pieces.reset()
                feed.updateOthers { $0.endHearing() }
            case .notification(_, let payload):
                switch OtherProcesses.Announcement(payload, ownProcess: sender) {
                case .here:
                    feed.updateOthers { $0.recordAnnouncement(at: .now) }
                    feed.recordOthers()
                case .who:
                    presence.signal.yield(.here)
                    feed.recordOthers()
                case nil: break
                }
                let change = pieces.add(payload, isWanted: feed.hasFollowers)
                if pieces.consumeLoss() {
                    logger.warning("lost changes of another process, closing live queries so that clients reconnect")
                    feed.missRelayed()
                }
                if let change { await deliver(change) }
            }
        }
    }

    private func deliver(_ received: RelayedChange.Received) async {
        guard received.isLarge else { return feed.observe(relayed: received.change()) }
        let className = Name(received.className)
        guard feed.hasFollowers(of: className) else { return }
        do {
            // If the object was deleted in the meantime, its deletion is relayed separately.
            guard let (object, place) = try await read(received.className, received.objectId) else { return }
            feed.observe(relayed: received.change(object, place))
        } catch {
            logger.warning(
                "change of another process not published: the object could not be read",
                metadata: ["class": "\(received.className)", "error": "\(error)"])
            feed.endFollowers(of: className)
        }
    }
}
