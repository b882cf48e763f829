/// How often processes died at one place: how long to wait before the next one. A place is never given up.
struct CrashHistory {
    private var inRow = 0

    /// A process that has served so long did not die of its start.
    static let span = Duration.seconds(60)

    /// Notes that a process died.
    ///
    /// - Parameters:
    ///   - lifetime: How long it had served.
    ///   - backOff: How long to wait, by how many died one after another; the last holds for all that follow.
    /// - Returns: How long to wait before the next one.
    mutating func note(after lifetime: Duration, backOff: [Duration]) -> Duration {
        if lifetime > Self.span { inRow = 0 }
        inRow = min(inRow + 1, max(backOff.count, 1))
        return backOff.isEmpty ? .zero : backOff[inRow - 1]
    }
}
