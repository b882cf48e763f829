/// How far servers are in the history of the database: each promotion of a standby begins a new timeline.
///
/// A primary that was thought to be dead and comes back is on an older timeline than the one that took its place. What is
/// written there is lost.
package struct TimelineWatch {
    /// The latest timeline of any connection so far.
    package private(set) var latest: UInt32 = 0
    /// Servers on older timelines, each avoided until the given time.
    private var outdated: [ServerAddress: MonotonicInstant] = [:]

    package init() {}

    /// Retry interval. The server may follow the new primary by then.
    private static let pause = Duration.seconds(10)

    /// The name of the timeline, as the names of the log's files begin; NULL on a standby.
    static let question = """
        SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
        """

    /// Takes note of a server's timeline; returns whether the server may be used.
    package mutating func admits(_ timeline: String, of server: ServerAddress, at now: MonotonicInstant) -> Bool {
        guard let number = UInt32(timeline, radix: 16) else { return true }
        guard number >= latest else {
            outdated[server] = now.after(Self.pause)
            return false
        }
        latest = number
        outdated[server] = nil
        return true
    }

    /// The servers to leave out.
    package mutating func avoided(at now: MonotonicInstant) -> Set<ServerAddress> {
        if outdated.isEmpty { return [] }
        outdated = outdated.filter { $0.value > now }
        return Set(outdated.keys)
    }
}
