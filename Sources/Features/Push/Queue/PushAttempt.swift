/// A device with the progress of sending to it.
package struct PushAttempt: Sendable {
    let device: PushDevice
    /// The senders for the device, in the order they are tried.
    let entries: [any PushSender]
    /// The time of the next attempt.
    package private(set) var due = ContinuousClock.now
    private(set) var last: PushOutcome?
    private var position = 0
    private var tries = 0
    private var misses = 0

    /// - Parameter entries: At least one sender.
    package init(device: PushDevice, entries: [any PushSender]) {
        self.device = device
        self.entries = entries
    }

    /// Whether all senders have been tried.
    var isExhausted: Bool { position >= entries.count }

    /// The current sender, or the last one after all have been tried.
    var entry: any PushSender { entries[min(position, entries.count - 1)] }

    /// Returns an attempt by the next sender, whose service may know the token.
    func byNextEntry() -> Self {
        var next = self
        next.position += 1
        next.tries = 0
        return next
    }

    /// Returns the next attempt after a pause, or nil after `maxTries` attempts.
    ///
    /// - Parameter seconds: The delay requested by the service, or nil if it requested none.
    package func later(_ outcome: PushOutcome, maxTries: Int, after seconds: Double?) -> Self? {
        var next = self
        next.tries += 1
        next.last = outcome
        guard next.tries < maxTries else { return nil }
        // The service may send any number here.
        let wanted = seconds.flatMap { (0...86_400).contains($0) ? $0 : nil }
        next.due = .now + .seconds(wanted ?? Self.pause(next.tries))
        return next
    }

    /// Returns the next attempt after a pause, due at `end` at the latest. The service didn't get the request, so it
    /// doesn't count as an attempt. The pauses stay short, because attempts cost nothing while the service is paused.
    func notReached(_ outcome: PushOutcome, until end: ContinuousClock.Instant) -> Self {
        var next = self
        next.misses += 1
        next.last = outcome
        next.due = min(.now + .seconds(Self.pause(min(next.misses, 3))), end)
        return next
    }

    /// Returns the seconds until the next attempt: 1, 4, 16 and then 60, each varied randomly by up to half.
    private static func pause(_ tries: Int) -> Double {
        [1, 4, 16, 60][min(max(tries, 1), 4) - 1] * Double.random(in: 0.5...1.5)
    }
}
