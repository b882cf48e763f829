import Synchronization

/// What is measured of requests of HTTP: how long they took, by route, method and status.
///
/// Each event loop has numbers of its own (``Shard``), which are added up when they are read. A request adds to a few
/// of them: it takes no lock, makes no text and allocates nothing.
public final class RequestMeters: Sendable {
    /// A method and a template of paths under which requests are counted.
    public struct Row: Sendable, Hashable {
        /// The method that the request meant.
        public let method: String
        /// The template of the path below the mount, as `/classes/{className}`; nil for paths of no route.
        public let route: String?

        /// A row.
        public init(method: String, route: String?) {
            self.method = method
            self.route = route
        }
    }

    /// The methods under which requests of no route are counted; others are the last.
    package static let methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "_OTHER"]
    /// How many rows stand before those of routes.
    public static var firstRoute: Int { methods.count }

    /// Why the transport refused a connection or a request.
    public enum Refusal: Int, Label {
        case connections, memory, timeout, malformed
    }

    /// What was refused by the transport.
    public let refused = Counters<Refusal>()
    let rows: [Row]
    private let shards: [Shard]

    /// - Parameters:
    ///   - routes: The rows of routes, in the order of their numbers.
    ///   - shards: How many event loops there are.
    public init(routes: [Row], shards: Int) {
        let rows = Self.methods.map { Row(method: $0, route: nil) } + routes
        self.rows = rows
        self.shards = (0..<max(1, shards)).map { _ in Shard(rows: rows.count) }
    }

    /// The number of the row of a request, as long as its route is not known.
    public static func row(ofMethod name: String) -> Int { methods.firstIndex(of: name) ?? methods.count - 1 }

    /// The numbers of an event loop.
    public subscript(number: Int) -> Shard { shards[number % shards.count] }

    /// The numbers of one event loop.
    public final class Shard: Sendable {
        private let rows: [NumberedHistograms]
        private let active = Atomic<Int>(0)
        private let received = Atomic<Int>(0)
        private let sent = Atomic<Int>(0)

        init(rows: Int) { self.rows = (0..<rows).map { _ in NumberedHistograms(.requests) } }

        /// Counts a request that begins.
        public func begin() { active.wrappingAdd(1, ordering: .relaxed) }

        /// Counts a request that has ended.
        ///
        /// - Parameters:
        ///   - row: The number of its row.
        ///   - status: The status of the answer; 0 when the client left before it.
        ///   - received: The bytes of its body that came.
        ///   - sent: The bytes of the content that was answered.
        public func end(row: Int, status: Int, duration: Duration, received: Int, sent: Int) {
            active.wrappingSubtract(1, ordering: .relaxed)
            if received > 0 { self.received.wrappingAdd(received, ordering: .relaxed) }
            if sent > 0 { self.sent.wrappingAdd(sent, ordering: .relaxed) }
            rows[row < rows.count ? row : 0].record(duration, of: Self.known(status))
        }

        /// Bounds the number of status labels.
        private static func known(_ status: Int) -> Int {
            switch status {
            case 0, 200...208, 300...308, 400...429, 431, 451, 500...511: status
            case 100..<600: status / 100 * 100
            default: 599
            }
        }

        fileprivate func add(to totals: inout Totals) {
            totals.active += active.load(ordering: .relaxed)
            totals.received += received.load(ordering: .relaxed)
            totals.sent += sent.load(ordering: .relaxed)
            for (index, row) in rows.enumerated() {
                for (status, counts) in row.counts {
                    totals.durations[index, default: [:]][status, default: Histogram.Counts()] += counts
                }
            }
        }
    }

    /// The numbers of all event loops.
    package struct Totals {
        package var active = 0
        package var received = 0
        package var sent = 0
        /// By the number of the row, and the status.
        package var durations: [Int: [Int: Histogram.Counts]] = [:]
    }

    package var totals: Totals {
        var totals = Totals()
        for shard in shards { shard.add(to: &totals) }
        return totals
    }
}
