import JSON
import Logging
import Operations
import Postgres
import Synchronization

/// Notifies other processes on the same database of changes, and gets theirs, through PostgreSQL.
struct ChangeRelay: Sendable {
    private struct Waiting: Sendable {
        let change: RelayedChange
        let number: Int
    }

    private static let channel = "roost.change"
    /// The most bytes of changes that wait to be sent, while the database is slow or away.
    private static let mostBytes = 64 * 1024 * 1024
    /// The most bytes that are sent in one round trip. With what each piece has before it they are no large write, which would
    /// wait for a connection behind those of clients.
    private static let batchBytes = 512 * 1024

    /// How long the database has to come back before the loss is announced.
    private static let timeToRecover = Duration.seconds(1)
    /// How long the first clients wait for the connection that listens. One that is let in without it is ended once there
    /// is one, since it may have missed changes.
    private static let timeToListen = Duration.seconds(5)

    private let client: PostgresClient
    private let feed: ChangeFeed
    private let read: Read
    private let sender = Identifiers.hexadecimal(16)
    private let queue = Queue()
    private let presence = Presence()
    private let logger: Logger

    /// What waits to be sent.
    private final class Queue: Sendable {
        struct State {
            var waiting: [Waiting] = []
            var bytes = 0
            var lastNumber = 0

            mutating func append(_ change: RelayedChange) {
                bytes += change.text.utf8.count
                lastNumber += 1
                waiting.append(Waiting(change: change, number: lastNumber))
            }

            /// Leaves a number out, and has the next one announced: others notice that they miss changes.
            mutating func appendLoss() {
                lastNumber += 1
                if waiting.last?.change.text != RelayedChange.none.text { append(.none) }
            }
        }

        let state = Mutex(State())
        let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// When this process announced itself, and whether it hears others.
    private final class Presence: Sendable {
        private let last = Mutex<ContinuousClock.Instant?>(nil)
        /// Whether this process has heard others at any time.
        let hasListened = Atomic(false)
        let (signals, signal) = AsyncStream.makeStream(
            of: OtherProcesses.Announcement.self, bufferingPolicy: .bufferingNewest(16))

        func isRecent(within time: Duration) -> Bool {
            last.withLock { last in last.map { .now - $0 < time } ?? false }
        }

        /// - Returns: Whether others have forgotten this process meanwhile.
        func note(announcedAt now: ContinuousClock.Instant) -> Bool {
            last.withLock { last in
                defer { last = now }
                return last.map { .now - $0 >= OtherProcesses.memory - OtherProcesses.interval } ?? false
            }
        }
    }

    /// Reads an object as it is now; nil where there is none.
    typealias Read = @Sendable (String, String) async throws -> (object: JSONObject, place: ValuePlace?)?

    /// - Parameter read: Reads an object that is too large to be sent.
    init(client: PostgresClient, feed: ChangeFeed, read: @escaping Read, logger: Logger) {
        self.client = client
        self.feed = feed
        self.read = read
        self.logger = logger
    }

    /// Has a change sent as soon as the database takes it; ``RelayedChange/none`` has others notice that they miss one.
    func send(_ change: RelayedChange) {
        let fits = queue.state.withLock { state in
            if change.text == RelayedChange.none.text {
                state.appendLoss()
                return true
            }
            let size = change.text.utf8.count
            guard state.bytes == 0 || state.bytes + size <= Self.mostBytes else {
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

    /// Sends and listens, until the task is cancelled or the client ends.
    ///
    /// - Parameter hasClients: Whether this process has clients of live queries.
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

    /// Has other processes know that this one has clients, as far as they may not know it yet, and waits a while for the
    /// connection on which their changes come.
    ///
    /// - Throws: `PostgresError`; then they may not know.
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
        try await client.notify(channel: Self.channel, payload: announcement.text(of: sender))
        guard announcement == .here else { return feed.note { $0.noteQuestion(at: .now) } }
        // Others may have forgotten this process while it was still or the database away, and kept changes to
        // themselves.
        if presence.note(announcedAt: began) { feed.missRelayed() }
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

    /// The changes that go together; nil for none.
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
                feed.note { $0.beginHearing(at: .now) }
                presence.signal.yield(.who)
                presence.signal.yield(.here)
                // What others announced while there was no connection is lost.
                feed.missRelayed()
                presence.hasListened.store(true, ordering: .relaxed)
            case .disconnected:
                pieces.reset()
                feed.note { $0.endHearing() }
            case .notification(_, let payload):
                switch OtherProcesses.Announcement(payload, ownProcess: sender) {
                case .here:
                    feed.note { $0.noteAnnouncement(at: .now) }
                    feed.noteOthers()
                case .who:
                    presence.signal.yield(.here)
                    feed.noteOthers()
                case nil: break
                }
                let change = pieces.add(payload, isWanted: feed.hasFollowers)
                if pieces.takeLoss() {
                    logger.warning("lost changes of another process, closing live queries so that clients reconnect")
                    feed.missRelayed()
                }
                if let change { await take(change) }
            }
        }
    }

    private func take(_ received: RelayedChange.Received) async {
        guard received.isLarge else { return feed.observe(relayed: received.change()) }
        let className = Name(received.className)
        guard feed.hasFollowers(of: className) else { return }
        do {
            // Of one that is gone meanwhile, its deletion comes.
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
