import HTTP
import JSON
import Limits
package import ParseModel
import Rules
import Synchronization

/// The exports that operators have requested. Each has a URL that works once and only in the requesting browser,
/// because downloads can't send the session token.
package final class ConsoleExports: Sendable {
    package enum State: String { case waiting, running, done, failed, cancelled }

    package struct Item: Sendable {
        let id: String
        let secret: String
        /// The hash of the session token.
        let token: [UInt8]
        let wish: ExportWish
        let total: Int
        let began = ContinuousClock.now
        package var state = State.waiting
        var done = 0
        var message = ""
        /// The time of the first sent bytes, and the number of bytes sent.
        var sending: (since: ContinuousClock.Instant, bytes: Int)?

        package init(id: String, secret: String, token: [UInt8], wish: ExportWish, total: Int) {
            self.id = id
            self.secret = secret
            self.token = token
            self.wish = wish
            self.total = total
        }

        var json: JSONObject {
            [
                "id": .string(id), "kind": "export", "state": .string(state.rawValue), "done": .number(Double(done)),
                "total": .number(Double(total)), "unit": "objects", "message": .string(message),
            ]
        }
    }

    private static let (maxExports, maxPerSession) = (100, 8)
    /// The time in which a download must start, and the age at which an ended export may be removed.
    private static let (patience, memory) = (Duration.seconds(120), Duration.seconds(3_600))

    private let items = Mutex<[Item]>([])
    /// The slots for running exports. Each occupies one of the few export connections. A session gets one.
    let gate = Gate(capacity: 2, share: 1, waitingShare: 4)

    package init() {}

    /// The minimum speed of an export while others wait, in bytes per second, and the initial seconds that are exempt.
    private static let (pace, beginning) = (64.0 * 1024, 60.0)

    /// Records sent bytes. Returns true if others are waiting and this download is too slow.
    func blocksOthers(_ id: String, sent bytes: Int) -> Bool {
        let now = ContinuousClock.now
        let sending = items.withLock { items -> (since: ContinuousClock.Instant, bytes: Int) in
            guard let place = items.firstIndex(where: { $0.id == id }) else { return (now, bytes) }
            let before = items[place].sending ?? (now, 0)
            items[place].sending = (before.since, before.bytes + bytes)
            return (before.since, before.bytes + bytes)
        }
        let seconds = (now - sending.since) / .seconds(1)
        return gate.waiting > 0 && seconds > Self.beginning && Double(sending.bytes) < Self.pace * seconds
    }

    package func add(_ item: Item) throws(HTTPError) {
        let isAdded = items.withLock { items in
            items.removeAll { item in
                let age = ContinuousClock.now - item.began
                // No export runs for longer than an hour.
                return age > Self.memory * 2 || age > Self.memory && item.state != .running
                    || item.state == .waiting && age > Self.patience
            }
            if items.count >= Self.maxExports,
                let place = items.firstIndex(where: { ![.waiting, .running].contains($0.state) })
            {
                items.remove(at: place)
            }
            let ofSession = items.count { $0.token == item.token && [.waiting, .running].contains($0.state) }
            guard items.count < Self.maxExports, ofSession < Self.maxPerSession else { return false }
            items.append(item)
            return true
        }
        guard isAdded else { throw HTTPError(status: 429, message: "Too many exports are running. Try again later.") }
    }

    /// Starts the download with the given secret, or returns nil if it is unknown, used, expired or cancelled.
    package func beginDownload(_ secret: String) -> Item? {
        items.withLock { items in
            guard
                let place = items.firstIndex(where: {
                    $0.state == .waiting && ConsoleSecrets.hash($0.secret) == ConsoleSecrets.hash(secret)
                }), ContinuousClock.now - items[place].began <= Self.patience
            else { return nil }
            items[place].state = .running
            return items[place]
        }
    }

    /// Returns an export of the session.
    ///
    /// - Throws: `ParseError` if the export doesn't exist or has expired.
    package func item(_ id: String, of token: [UInt8]) throws(ParseError) -> Item {
        guard var item = items.withLock({ items in items.first { $0.id == id && $0.token == token } }) else {
            throw ParseError(ParseError.objectNotFound, "The export doesn't exist or has expired.")
        }
        if item.state == .waiting, ContinuousClock.now - item.began > Self.patience {
            (item.state, item.message) = (.failed, "The browser did not download the export.")
        }
        return item
    }

    func isStopped(_ id: String) -> Bool { items.withLock { items in items.first { $0.id == id }?.state != .running } }

    func change(_ id: String, _ edit: (inout Item) -> Void) {
        items.withLock { items in
            if let place = items.firstIndex(where: { $0.id == id }) { edit(&items[place]) }
        }
    }

    /// Ends an export unless it has already ended.
    package func end(_ id: String, _ state: State, _ message: String = "") {
        change(id) { if [.waiting, .running].contains($0.state) { ($0.state, $0.message) = (state, message) } }
    }
}

/// Marks an export that hasn't ended as failed when this object is released, because the browser has disconnected.
package final class ConsoleExportSending: Sendable {
    private let exports: ConsoleExports
    private let id: String

    package init(_ id: String, of exports: ConsoleExports) {
        self.exports = exports
        self.id = id
    }

    deinit { exports.end(id, .failed, "The browser disconnected.") }
}
