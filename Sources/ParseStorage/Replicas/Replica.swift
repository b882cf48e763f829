import Postgres
import Synchronization

/// A replica of the database, and what is known of it.
final class Replica: Sendable {
    let client: PostgresClient
    private let reads = Atomic(0)
    private let replayed = Atomic<Int64>(0)

    init(client: PostgresClient) { self.client = client }

    /// How many reads are under way on it.
    var readsUnderWay: Int { reads.load(ordering: .relaxed) }

    /// Until when, by ``ReplicaClock``, it has all that was committed on the primary; 0 where that is not known.
    var knows: Int64 { replayed.load(ordering: .relaxed) }

    /// Whether it can be asked: without a connection a request would wait for one until it is too late.
    var isReachable: Bool { client.statistics.connections > 0 }

    /// Notes that it has all that was committed before an instant.
    func note(knows instant: Int64) { replayed.store(instant, ordering: .relaxed) }

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
