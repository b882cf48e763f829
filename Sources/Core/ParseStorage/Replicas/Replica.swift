import Postgres
import Synchronization

/// A replica of the database, and what is known of it.
final class Replica: Sendable {
    let client: PostgresClient
    private let reads = Atomic(0)
    private let replayed = Atomic<Int64>(0)
    private let isUnderWay = Atomic(false)
    /// Start of its unanswered queries, or 0 if it answered the last one.
    private let askedSince = Atomic<Int64>(0)

    /// Milliseconds for which its lag may be unanswered.
    private static let patience: Int64 = 5000

    init(client: PostgresClient) { self.client = client }

    var readsUnderWay: Int { reads.load(ordering: .relaxed) }

    /// Until when, by ``ReplicaClock``, it has all that was committed on the primary; 0 where that is not known, less
    /// where it is no replica of the primary.
    var knows: Int64 { replayed.load(ordering: .relaxed) }

    /// Whether it can be asked: without a connection a request would wait for one until it is too late.
    var isReachable: Bool { client.statistics.connections > 0 }

    /// Whether it owes the answer how far it is.
    var isAsked: Bool { isUnderWay.load(ordering: .relaxed) }

    /// Whether it has owed it for so long that a read might wait for ever: its process is frozen, or its disk.
    var isSilent: Bool {
        let since = askedSince.load(ordering: .relaxed)
        return since != 0 && ReplicaClock.now - since > Self.patience
    }

    /// Asks how far it is, once at a time. As long as it does not answer, it stays silent from the first time on.
    func asking(_ body: () async -> Bool) async {
        isUnderWay.store(true, ordering: .relaxed)
        _ = askedSince.compareExchange(expected: 0, desired: ReplicaClock.now, ordering: .relaxed)
        if await body() { askedSince.store(0, ordering: .relaxed) }
        isUnderWay.store(false, ordering: .relaxed)
    }

    /// Notes that it has all that was committed before an instant.
    func note(knows instant: Int64) { replayed.store(instant, ordering: .relaxed) }

    /// Notes that it goes its own way: until it is a replica again, it knows nothing; returns whether that is new.
    func noteDivergence() -> Bool { replayed.exchange(Self.nothing, ordering: .relaxed) != Self.nothing }

    private static let nothing: Int64 = -1

    /// Runs a read, which counts as under way meanwhile.
    func reading<R>(_ body: () async throws -> R) async throws -> R {
        reads.add(1, ordering: .relaxed)
        defer { reads.subtract(1, ordering: .relaxed) }
        return try await body()
    }
}

/// Milliseconds since the process looked first, by a clock that is never set; at least 1.
enum ReplicaClock {
    private static let start = ContinuousClock.now

    static var now: Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
    }
}
