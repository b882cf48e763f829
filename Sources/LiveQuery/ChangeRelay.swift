import Logging
import Operations
import Postgres
import Synchronization

/// Tells other processes on the same database of changes, and hears of theirs, through PostgreSQL.
struct ChangeRelay: Sendable {
    private struct Waiting: Sendable {
        let change: RelayedChange
        let number: Int
    }

    private static let channel = "roost.change"
    /// The most bytes of changes that wait to be told, while the database is slow or away.
    private static let mostBytes = 64 * 1024 * 1024
    /// The most bytes that are told in one round trip.
    private static let batchBytes = 1024 * 1024

    /// How long the database has to come back before it is told of what was lost.
    private static let timeToRecover = Duration.seconds(1)

    private let client: PostgresClient
    private let feed: ChangeFeed
    private let sender = Identifiers.hexadecimal(16)
    private let queue = Queue()
    private let logger: Logger

    /// What waits to be told.
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

    init(client: PostgresClient, feed: ChangeFeed, logger: Logger) {
        self.client = client
        self.feed = feed
        self.logger = logger
    }

    /// Has a change told as soon as the database takes it.
    func send(_ change: RelayedChange) {
        let fits = queue.state.withLock { state in
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
            logger.error("other processes are not told of a change: too many wait")
        }
    }

    /// Tells and listens, until the task is cancelled or the client ends.
    func run(listens: Bool) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await tell() }
            if listens { group.addTask { await listen() } }
        }
    }

    private func tell() async {
        for await _ in queue.signals {
            while let batch = next() {
                do {
                    try await client.notify(
                        channel: Self.channel,
                        payloads: batch.flatMap { $0.change.pieces(sender: sender, number: $0.number) })
                } catch {
                    if Task.isCancelled { return }
                    logger.warning(
                        "other processes were not told of changes",
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
        var wasConnected = false
        for await event in client.listen(channels: [Self.channel]) {
            switch event {
            case .connected:
                pieces.reset()
                // What others announced while there was no connection is lost.
                if wasConnected { feed.missRelayed() }
                wasConnected = true
            case .disconnected: pieces.reset()
            case .notification(_, let payload):
                let change = pieces.add(payload)
                if pieces.takeLoss() {
                    logger.warning("changes of another process were lost: live queries end, and clients come again")
                    feed.missRelayed()
                }
                if let change { feed.observe(relayed: change) }
            }
        }
    }
}
