import Synchronization

/// HTTP request metrics by route, method and status.
///
/// Each event loop has its own counters (``Shard``), which are added up when they are read. Recording a request takes
/// no lock and builds no strings. It allocates memory only for the first request of a route with a new status.
public final class RequestMeters: Sendable {
    /// The HTTP method and path template that requests are counted by.
    public struct Row: Sendable, Hashable {
        /// The HTTP method of the route, or of the requests if they are unrouted.
        public let method: String
        /// The path template below the mount path, such as `/classes/{className}`, or nil for unrouted requests.
        public let route: String?

        public init(method: String, route: String?) {
            self.method = method
            self.route = route
        }
    }

    /// Methods used as labels for unrouted requests. Anything else counts as `_OTHER`.
    package static let methods = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "_OTHER"]
    /// The row of operators' requests, whose long polls would distort the charts.
    public static var operators: Int { methods.count }
    /// The number of rows for unrouted and operators' requests, which precede the rows of routes.
    public static var firstRoute: Int { operators + 1 }

    /// The reason why the transport rejected a connection or request.
    public enum Refusal: Int, Label {
        case connections, memory, timeout, malformed
    }

    /// Connections and requests rejected by the transport.
    public let refused = Counters<Refusal>()
    let rows: [Row]
    private let shards: [Shard]

    /// - Parameters:
    ///   - routes: The rows of routes, in the order of their indices.
    ///   - shards: The number of event loops.
    public init(routes: [Row], shards: Int) {
        let operators = Row(method: "_OTHER", route: "operators")
        let rows = Self.methods.map { Row(method: $0, route: nil) } + [operators] + routes
        self.rows = rows
        self.shards = (0..<max(1, shards)).map { _ in Shard(rows: rows.count) }
    }

    /// Returns the index of the row for a request whose route isn't known yet.
    public static func row(ofMethod name: String) -> Int { methods.firstIndex(of: name) ?? methods.count - 1 }

    /// Returns the counters of an event loop.
    public subscript(number: Int) -> Shard { shards[number % shards.count] }

    /// The counters of one event loop.
    public final class Shard: Sendable {
        private let rows: [NumberedHistograms]
        private let active = Atomic<Int>(0)
        private let received = Atomic<Int>(0)
        private let sent = Atomic<Int>(0)
        private let sentToOperators = Atomic<Int>(0)

        init(rows: Int) { self.rows = (0..<rows).map { _ in NumberedHistograms(.requests) } }

        /// Counts the start of a request.
        public func begin() { active.wrappingAdd(1, ordering: .relaxed) }

        /// Counts the end of a request.
        ///
        /// - Parameters:
        ///   - row: The index of its row.
        ///   - status: The HTTP status, or 0 if the client left or the response could not be sent.
        ///   - received: The number of body bytes received.
        ///   - sent: The number of body bytes sent.
        public func end(row: Int, status: Int, duration: Duration, received: Int, sent: Int) {
            active.wrappingSubtract(1, ordering: .relaxed)
            if received > 0 { self.received.wrappingAdd(received, ordering: .relaxed) }
            if sent > 0 { self.sent.wrappingAdd(sent, ordering: .relaxed) }
            if row == RequestMeters.operators { sentToOperators.wrappingAdd(sent, ordering: .relaxed) }
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
            totals.sentToOperators += sentToOperators.load(ordering: .relaxed)
            for (index, row) in rows.enumerated() {
                for (status, counts) in row.counts {
                    totals.durations[index, default: [:]][status, default: Histogram.Counts()] += counts
                }
            }
        }
    }

    /// The sums over all event loops.
    package struct Totals {
        package var active = 0
        package var received = 0
        package var sent = 0
        /// The part of `sent` in operators' responses.
        package var sentToOperators = 0
        /// The durations by row index and status.
        package var durations: [Int: [Int: Histogram.Counts]] = [:]
    }

    package var totals: Totals {
        var totals = Totals()
        for shard in shards { shard.add(to: &totals) }
        return totals
    }
}
