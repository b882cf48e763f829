/// Decides when to pause sending to a push service: if connecting fails, or after many consecutive failures. Until a
/// response resets the duration, each pause is twice as long as the one before, up to a minute.
struct ServicePauses {
    private var failures = 0
    private var pauses = 0
    /// Whether sending is paused. The caller that gets the duration of a pause must call ``end()`` after it.
    private(set) var isOn = false

    /// The number of consecutive failures that starts a pause.
    static let maxFailures = 20
    /// The first pause after failures, in seconds.
    private static let failurePause: Int64 = 5
    /// The first pause after a failed connection, in seconds.
    private static let connectionPause: Int64 = 1
    /// The longest pause, in seconds.
    private static let longestPause: Int64 = 60

    /// Records a response, which resets the failures and the pause duration.
    mutating func recordAnswer() { (failures, pauses) = (0, 0) }

    /// Records a failure. Returns the duration in seconds of the pause that it starts, or nil if it doesn't start one.
    mutating func recordFailure() -> Int64? {
        failures += 1
        return failures >= Self.maxFailures ? begin(Self.failurePause) : nil
    }

    /// Records a failed connection. Returns the duration in seconds of the pause that it starts, or nil if sending is
    /// already paused.
    mutating func recordUnreached() -> Int64? { begin(Self.connectionPause) }

    mutating func end() { isOn = false }

    private mutating func begin(_ first: Int64) -> Int64? {
        guard !isOn else { return nil }
        isOn = true
        failures = 0
        pauses += 1
        return min(first << min(pauses - 1, 6), Self.longestPause)
    }
}
