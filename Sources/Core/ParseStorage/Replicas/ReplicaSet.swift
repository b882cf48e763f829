public import Logging
public import Postgres
import Synchronization

/// The replicas of the database: which of them a read goes to, and how far each has come.
///
/// How far is measured in the primary's log: its position is noted with the time about once a second, and a replica that
/// has replayed up to there has all that was committed until then. Nothing is written for that, and a primary where
/// nothing happens lets no replica look late. A replica that was promoted goes its own way, on a timeline of its own:
/// how far it is says nothing then.
public final class ReplicaSet: Sendable {
    private let primary: PostgresClient
    private let replicas: [Replica]
    /// Maximum lag of a replica in milliseconds, or nil for any.
    private let maxLag: Int64?
    private let logger: Logger
    private let isMeasured = Atomic(false)
    private let turn = Atomic(0)
    private let marks = Mutex<[Mark]>([])
    let ownWrites = OwnWrites()

    /// Remembered positions of the primary's WAL.
    private static let mostMarks = 600

    /// Makes a set of replicas, which are not connected to yet.
    ///
    /// - Parameters:
    ///   - primary: The database that is written to.
    ///   - maxLag: How far a replica may be behind, in milliseconds, before it counts as out of reach.
    public init(_ clients: [PostgresClient], of primary: PostgresClient, maxLag: Int?, logger: Logger) {
        replicas = clients.map { Replica(client: $0) }
        self.primary = primary
        self.maxLag = maxLag.map { Int64($0) }
        self.logger = logger
    }

    /// Connects. A replica that is out of reach keeps the server from nothing: its client goes on trying.
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

    /// Closes the connections.
    public func shutdown() async { for replica in replicas { await replica.client.shutdown() } }

    // MARK: Choosing

    /// The replica for a read: of those that can be asked, and are near enough, the one with the least reads under way.
    ///
    /// - Parameters:
    ///   - instant: Until when it must know what was committed; nil for any time.
    ///   - tried: Replicas that failed the read already.
    ///   - evenSilent: Whether one that owes an answer is asked where there is no other.
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

    /// A replica that is asked though none can be: its failure says why.
    var any: Replica? { replicas.first }

    /// What a replica must know for the caller of this task to find what it wrote; nil for nothing.
    var ownLastWrite: Int64? { ownWrites.last(isMeasured: isMeasured.load(ordering: .relaxed)) }

    // MARK: Measuring

    private struct Mark {
        let time: Int64
        let position: Int64
        let timeline: String?
    }

    /// Measures how far the replicas are, until the task is cancelled.
    public func run() async {
        let period = Duration.milliseconds(maxLag.map { min(1000, max(20, $0 / 3)) } ?? 1000)
        await withDiscardingTaskGroup { group in
            while (try? await Task.sleep(for: period)) != nil {
                await mark()
                // One that is frozen keeps nothing from being known of the others.
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
            // After a promotion positions of before may mean something else.
            if let last = marks.last, last.timeline != timeline { marks.removeAll() }
            marks.append(Mark(time: time, position: position, timeline: timeline))
            // A replica that is further behind is no longer measured.
            if marks.count > Self.mostMarks { marks.removeFirst(marks.count - Self.mostMarks) }
        }
    }

    private func measure(_ replica: Replica) async {
        await replica.asking {
            guard let (position, timeline) = await readPosition(Self.replayed, on: replica.client) else { return false }
            let (mark, current) = marks.withLock { marks in
                (marks.last(where: { $0.position <= position }), marks.last?.timeline)
            }
            if let timeline, let current, timeline != current {
                if replica.noteDivergence() {
                    logger.warning("read replica was promoted and is not used until it follows again")
                }
            } else if let mark {
                replica.note(knows: mark.time)
            }
            return true
        }
    }

    /// A server's WAL position, and its timeline if it writes.
    private func readPosition(_ sql: String, on client: PostgresClient) async -> (Int64, timeline: String?)? {
        do {
            let result = try await client.query(sql, readOnly: true)
            guard let position = result.int(0, 0) else { return nil }
            // Between two pages the place of the next record is behind the head of a page, which comes with it.
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
