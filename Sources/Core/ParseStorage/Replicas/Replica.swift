import Postgres
import Synchronization

/// A replica of the database, with its measured lag.
final class Replica: Sendable {
    let client: PostgresClient
    private let reads = Atomic(0)
    private let replayed = Atomic<Int64>(0)
    private let isUnderWay = Atomic(false)
    /// The start of the first lag query after the last successful one, or 0 if none has started since.
    private let askedSince = Atomic<Int64>(0)

    /// Milliseconds after which a replica counts as silent if no lag query succeeds.
    private static let patience: Int64 = 5000

    init(client: PostgresClient) { self.client = client }

    var readsUnderWay: Int { reads.load(ordering: .relaxed) }

    /// The instant, by ``ReplicaClock``, up to which the replica has every commit of the primary. It is 0 if unknown
    /// and negative if the replica has diverged.
    var knows: Int64 { replayed.load(ordering: .relaxed) }

    /// Whether the pool has a connection. Without one, a request would wait for a connection until it times out.
    var isReachable: Bool { client.statistics.connections > 0 }

    /// Whether a lag query is running.
    var isAsked: Bool { isUnderWay.load(ordering: .relaxed) }

    /// Whether lag queries have failed or gone unanswered for over five seconds. A read might then hang.
    var isSilent: Bool {
        let since = askedSince.load(ordering: .relaxed)
        return since != 0 && ReplicaClock.now - since > Self.patience
    }

    /// Runs a lag query, which must not overlap another one. `body` returns whether the query succeeded.
    func asking(_ body: () async -> Bool) async {
        isUnderWay.store(true, ordering: .relaxed)
        _ = askedSince.compareExchange(expected: 0, desired: ReplicaClock.now, ordering: .relaxed)
        if await body() { askedSince.store(0, ordering: .relaxed) }
        isUnderWay.store(false, ordering: .relaxed)
    }

    /// Records that the replica has every commit before an instant.
    func record(knows instant: Int64) { replayed.store(instant, ordering: .relaxed) }

    /// Marks the replica as diverged. Returns false if it already was.
    func markDiverged() -> Bool { replayed.exchange(Self.nothing, ordering: .relaxed) != Self.nothing }

    private static let nothing: Int64 = -1

    /// Runs a read of the primary's store on the replica, and counts it while it runs.
    func reading<R>(for store: ObjectStore, _ body: (ObjectStore) async throws -> R) async throws -> R {
        reads.add(1, ordering: .relaxed)
        defer { reads.subtract(1, ordering: .relaxed) }
        return try await body(ObjectStore(client: client, catalog: store.catalog, logger: store.logger))
    }
}

/// A monotonic clock in milliseconds since its first use. It starts at 1.
enum ReplicaClock {
    private static let start = ContinuousClock.now

    static var now: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
    }
}
