/// When processes died: how long to wait before the next one, and when to give up.
struct CrashHistory {
    private var moments: [ContinuousClock.Instant] = []
    private var inRow = 0

    /// So many within so long are the end.
    static let most = 5
    static let span = Duration.seconds(60)

    /// Notes that a process died.
    ///
    /// - Parameters:
    ///   - lifetime: How long it had served.
    ///   - backOff: How long to wait, by how many died one after another.
    /// - Returns: How long to wait before the next one; nil to start none.
    mutating func note(
        at now: ContinuousClock.Instant, after lifetime: Duration, backOff: [Duration]
    ) -> Duration? {
        moments.removeAll { now - $0 > Self.span }
        moments.append(now)
        if lifetime > Self.span { inRow = 0 }
        inRow += 1
        guard moments.count < Self.most else { return nil }
        return backOff.isEmpty ? .zero : backOff[min(inRow, backOff.count) - 1]
    }
}
