/// Whether a push service is left alone for a while: it could not be reached, or failed many times without an answer in
/// between. Each pause without one is twice as long as the last.
struct ServicePauses {
    private var failures = 0
    private var pauses = 0
    /// Whether sending is paused. The caller that got the pause's length ends it.
    private(set) var isOn = false

    /// How many failures in a row are a reason to stop.
    static let mostFailures = 20
    /// The first pause after failures, the first without a connection, and the longest, in seconds.
    private static let failurePause: Int64 = 5
    private static let connectionPause: Int64 = 1
    private static let longestPause: Int64 = 60

    /// Notes an answer: what was before it no longer counts.
    mutating func noteAnswer() { (failures, pauses) = (0, 0) }

    /// Notes a failure; returns how long the pause is that begins, in seconds; nil for none.
    mutating func noteFailure() -> Int64? {
        failures += 1
        return failures >= Self.mostFailures ? begin(Self.failurePause) : nil
    }

    /// Notes that there is no connection; returns how long the pause is that begins, in seconds; nil where one goes on.
    mutating func noteUnreached() -> Int64? { begin(Self.connectionPause) }

    mutating func end() { isOn = false }

    private mutating func begin(_ first: Int64) -> Int64? {
        guard !isOn else { return nil }
        isOn = true
        failures = 0
        pauses += 1
        return min(first << min(pauses - 1, 6), Self.longestPause)
    }
}
