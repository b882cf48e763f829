/// When connections are to be made anew because their server takes no writes any more, as after a failover that left
/// them open: a new connection may lead to the server that does.
///
/// Where there is no such server, reads go on, and connections are made anew less and less often.
struct ConnectionRenewal {
    private var latest: MonotonicInstant?
    private var pause = shortestPause

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(60)

    /// Whether a connection that was opened at an instant is to be made anew.
    func concerns(openedAt: MonotonicInstant) -> Bool { latest.map { openedAt < $0 } ?? false }

    /// Notes that the server of a connection refused to write.
    ///
    /// - Returns: Whether connections are to be made anew from now on that were not before.
    mutating func noteRefusal(openedAt: MonotonicInstant, at now: MonotonicInstant) -> Bool {
        guard !concerns(openedAt: openedAt) else { return false }
        if let latest {
            guard latest.after(pause) <= now else { return false }
            pause = latest.after(pause * 4) > now ? min(pause * 2, Self.longestPause) : Self.shortestPause
        }
        latest = now
        return true
    }
}
