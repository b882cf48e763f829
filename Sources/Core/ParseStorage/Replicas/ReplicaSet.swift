public import Logging
public import Postgres
import Synchronization

/// The replicas of the database. Chooses one for each read and measures their lag.
///
/// The primary's WAL position is recorded with the time about once a second, or more often for a small `maxLag`. A
/// replica that has replayed a position has all commits up to its time. Measuring writes nothing, and replicas of an
/// idle primary don't look late. A promoted replica has its own timeline, so its position says nothing about its lag.
public final class ReplicaSet: Sendable {
    private let primary: PostgresClient
    private let replicas: [Replica]
    /// The maximum lag of a replica in milliseconds, or nil for no limit.
    private let maxLag: Int64?
    private let logger: Logger
    private let isMeasured = Atomic(false)
    private let turn = Atomic(0)
    private let marks = Mutex<[Mark]>([])
    let ownWrites = OwnWrites()

    private static let maxMarks = 600

    /// Creates a set of replicas without connecting to them.
    ///
    /// - Parameters:
    ///   - primary: The database that is written to.
    ///   - maxLag: The maximum lag of a replica in milliseconds, or nil for no limit. Replicas beyond it are skipped.
    public init(_ clients: [PostgresClient], of primary: PostgresClient, maxLag: Int?, logger: Logger) {
        replicas = clients.map { Replica(client: $0) }
        self.primary = primary
        self.maxLag = maxLag.map { Int64($0) }
        self.logger = logger
    }

    /// Connects to the replicas and measures their lag. The clients of unreachable ones keep trying.
    public func start() async {
        for replica in replicas {
            do {
                try await replica.client.start()
            } catch {
                logger.warning("read replica unreachable", metadata: ["error": "\(error)"])
            }
        }
        await mark()
        await withTaskGroup(of: Void.self) { group in
            for replica in replicas where replica.isReachable { group.addTask { await self.measure(replica) } }
        }
    }

    public func shutdown() async { for replica in replicas { await replica.client.shutdown() } }

    // MARK: Choosing

    /// Returns the reachable replica within the lag limits that has the fewest running reads, or nil if none qualifies.
    ///
    /// - Parameters:
    ///   - instant: The instant up to which it must have every commit, or nil for no such condition.
    ///   - tried: Replicas that already failed the read.
    ///   - evenSilent: Whether a silent replica (``Replica/isSilent``) may be chosen if no other qualifies.
    func choose(knowing instant: Int64?, besides tried: [Replica] = [], evenSilent: Bool = true) -> Replica? {
        let first = turn.add(1, ordering: .relaxed).oldValue
        let earliest = max(instant.map { $0 + 1 } ?? 0, maxLag.map { ReplicaClock.now - $0 } ?? 0)
        var best: (replica: Replica, rank: (Int, Int))?
        for offset in replicas.indices {
            let replica = replicas[(first &+ offset) % replicas.count]
            guard replica.knows >= earliest, replica.isReachable, !tried.contains(where: { $0 === replica }) else {
                continue
            }
            let isSilent = replica.isSilent
            guard evenSilent || !isSilent else { continue }
            let rank = (isSilent ? 1 : 0, replica.readsUnderWay)
            if best.map({ rank < $0.rank }) ?? true { best = (replica, rank) }
        }
        return best?.replica
    }

    /// The first replica, to try if none can be chosen, so that its error explains why.
    var any: Replica? { replicas.first }

    /// The instant that a replica must have reached to contain the caller's last write, or nil if the caller hasn't
    /// written recently.
    var ownLastWrite: Int64? { ownWrites.last(isMeasured: isMeasured.load(ordering: .relaxed)) }

    // MARK: Measuring

    private typealias Mark = (time: Int64, position: Int64, timeline: String?)

    /// Measures the lag of the replicas until the task is cancelled.
    public func run() async {
        let period = Duration.milliseconds(maxLag.map { min(1000, max(20, $0 / 3)) } ?? 1000)
        await withDiscardingTaskGroup { group in
            while (try? await Task.sleep(for: period)) != nil {
                await mark()
                // Separate tasks, so that a frozen replica doesn't delay measuring the others.
                for replica in replicas where replica.isReachable && !replica.isAsked {
                    group.addTask { await self.measure(replica) }
                }
            }
        }
    }

    private func mark() async {
        let time = ReplicaClock.now
        guard let (position, timeline) = await readPosition(Self.written, on: primary) else {
            return isMeasured.store(false, ordering: .relaxed)
        }
        isMeasured.store(true, ordering: .relaxed)
        marks.withLock { marks in
            // After a promotion, positions can't be compared with earlier ones.
            if let last = marks.last, last.timeline != timeline { marks.removeAll() }
            marks.append((time, position, timeline))
            // The lag of a replica that is further behind than the oldest mark isn't measured.
            if marks.count > Self.maxMarks { marks.removeFirst(marks.count - Self.maxMarks) }
        }
    }

    private func measure(_ replica: Replica) async {
        await replica.asking {
            guard let (position, timeline) = await readPosition(Self.replayed, on: replica.client) else { return false }
            let (mark, current) = marks.withLock { marks in
                (marks.last(where: { $0.position <= position }), marks.last?.timeline)
            }
            if let timeline, let current, timeline != current {
                if replica.markDiverged() {
                    logger.warning("read replica was promoted, not using it until it follows the primary again")
                }
            } else if let mark {
                replica.record(knows: mark.time)
            }
            return true
        }
    }

    /// Returns a server's WAL position, and its timeline if the server accepts writes, or nil if the query fails.
    private func readPosition(_ sql: String, on client: PostgresClient) async -> (Int64, timeline: String?)? {
        do {
            let result = try await client.query(sql, readOnly: true)
            guard let position = result.int(0, 0) else { return nil }
            // At a page boundary the next position lies after the page header, which is replicated only with the next
            // record.
            let offset = position % 8192
            return (offset == 24 || offset == 40 ? position - offset : position, result.string(0, 1))
        } catch {
            logger.debug("could not read a replica's lag", metadata: ["error": "\(error)"])
            return nil
        }
    }

    private static let written = """
        SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::int8, \
        substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
        """
    private static let replayed = """
        SELECT ((CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END) \
        - '0/0'::pg_lsn)::int8, CASE WHEN NOT pg_is_in_recovery() \
        THEN substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END
        """
}
