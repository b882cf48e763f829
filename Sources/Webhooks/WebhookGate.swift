import JSON
import ParseModel
import Synchronization

/// How many calls are under way to each host: one that is slow makes its own callers wait, and nobody else's.
final class WebhookGate: Sendable {
    private let most: Int
    private let counts = Mutex<[Name: Int]>([:])

    /// - Parameter open: How many calls are open at a time. Ten times as many may wait for one to end.
    init(open: Int) { most = open * 11 }

    /// Counts a call.
    ///
    /// - Throws: 155 when too many wait already.
    func enter(_ host: String) throws(ParseError) {
        let isFull = counts.withLock { counts in
            let count = counts[Name(host), default: 0]
            guard count < most else { return true }
            counts[Name(host)] = count + 1
            return false
        }
        if isFull { throw ParseError(ParseError.requestLimitExceeded, "Cloud code is overloaded.") }
    }

    /// Forgets a call.
    func leave(_ host: String) {
        counts.withLock { counts in
            let count = counts[Name(host), default: 1] - 1
            counts[Name(host)] = count == 0 ? nil : count
        }
    }
}
