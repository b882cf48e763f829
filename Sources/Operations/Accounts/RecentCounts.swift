import Synchronization

/// How many text messages a number was sent a short time ago, by whichever user: nobody's phone is flooded, and nobody's
/// bill, by users who give a number of somebody else's, take it back, and give it again.
final class SentMessages: Sendable {
    private struct Count {
        var messages = 0
        var end: ContinuousClock.Instant
    }

    private let counts = Mutex<[String: Count]>([:])

    /// How many a number is sent in a time.
    static let most = 10
    private static let window = Duration.seconds(600)
    /// How many numbers are remembered.
    private static let capacity = 10_000

    /// Counts a message to a number; false when it has had enough.
    func mayHaveOneMore(_ number: String, at now: ContinuousClock.Instant = .now) -> Bool {
        // However it is written, it is one number.
        let digits = String(
            decoding: number.utf8.filter { (0x30...0x39).contains($0) }.drop { $0 == 0x30 }, as: UTF8.self)
        return counts.withLock { counts in
            if counts[digits] == nil, counts.count >= Self.capacity {
                counts = counts.filter { $0.value.end > now }
                if counts.count >= Self.capacity { counts.removeAll() }
            }
            var count = counts[digits] ?? Count(end: now + Self.window)
            if count.end <= now { count = Count(end: now + Self.window) }
            guard count.messages < Self.most else { return false }
            count.messages += 1
            counts[digits] = count
            return true
        }
    }

    /// How many numbers are remembered.
    var size: Int { counts.withLock { $0.count } }
}
