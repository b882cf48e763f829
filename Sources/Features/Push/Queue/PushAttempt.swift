/// A device that is sent to, and how far it has come.
package struct PushAttempt: Sendable {
    let device: PushDevice
    /// What may send to it, in the order in which it is tried.
    let entries: [any PushSender]
    /// When it is tried next.
    package private(set) var due = ContinuousClock.now
    private(set) var last: PushOutcome?
    private var position = 0
    private var tries = 0
    private var misses = 0

    /// - Parameter entries: At least one.
    package init(device: PushDevice, entries: [any PushSender]) {
        self.device = device
        self.entries = entries
    }

    /// Whether no entry is left.
    var isExhausted: Bool { position >= entries.count }

    /// What sends to it next, or sent last.
    var entry: any PushSender { entries[min(position, entries.count - 1)] }

    /// The same device by the next entry, which may know it.
    func byNextEntry() -> Self {
        var next = self
        next.position += 1
        next.tries = 0
        return next
    }

    /// The same device after a while; nil when it has been tried often enough.
    ///
    /// - Parameter seconds: After how long the service wants to be asked; nil where it does not say.
    package func later(_ outcome: PushOutcome, most: Int, after seconds: Double?) -> Self? {
        var next = self
        next.tries += 1
        next.last = outcome
        guard next.tries < most else { return nil }
        // What a service says may be no time at all.
        let wanted = seconds.flatMap { (0...86_400).contains($0) ? $0 : nil }
        next.due = .now + .seconds(wanted ?? Self.pause(next.tries))
        return next
    }

    /// The same device after a while, at the latest when its time is over: what the service did not get is no try. While
    /// the service is left alone, asking costs nothing: it is asked more often than where it failed.
    func notReached(_ outcome: PushOutcome, until end: ContinuousClock.Instant) -> Self {
        var next = self
        next.misses += 1
        next.last = outcome
        next.due = min(.now + .seconds(Self.pause(min(next.misses, 3))), end)
        return next
    }

    /// Seconds until the next try: about 1, 4, 16, and at most 90.
    private static func pause(_ tries: Int) -> Double {
        [1, 4, 16, 60][min(max(tries, 1), 4) - 1] * Double.random(in: 0.5...1.5)
    }
}
