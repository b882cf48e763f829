/// Tracks the timelines of servers. Each promotion of a standby starts a new one.
///
/// A former primary that comes back is on an older timeline than its successor. Writes to it would be lost.
package struct TimelineWatch {
    /// The latest timeline of any connection so far.
    package private(set) var latest: UInt32 = 0
    /// Servers on older timelines, each avoided until the given time.
    private var outdated: [ServerAddress: MonotonicInstant] = [:]

    package init() {}

    /// The time for which a server is avoided. Afterward it may follow the new primary.
    private static let pause = Duration.seconds(10)

    /// The query for a server's timeline as in WAL file names. Returns NULL on a standby.
    static let question = """
        SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
        """

    /// Records a server's timeline. Returns false if the server must not be used.
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

    /// Returns the servers to avoid, and removes expired entries.
    package mutating func avoided(at now: MonotonicInstant) -> Set<ServerAddress> {
        if outdated.isEmpty { return [] }
        outdated = outdated.filter { $0.value > now }
        return Set(outdated.keys)
    }
}
