import Platform
import Synchronization

/// The history of a server's metrics for charts: the last hour in steps of ten seconds, the last day in minutes.
///
/// Samples the existing meters, at no cost to requests. Operators' requests count only in database calls.
public final class FigureHistory: Sendable {
    /// The series of a chart. Rates are per second, times in milliseconds.
    public enum Series: Int, CaseIterable, Sendable {
        case requests, clientErrors, serverErrors, p50, p99, bytes
        case calls, callErrors, callP50, callP99
        case connections, live, databaseActive, databaseWaiting, hashing, memory

        /// Whether the series shows a current value instead of a rate or a duration.
        var isGauge: Bool { rawValue >= Series.connections.rawValue }
        /// Whether the series is about HTTP requests, which aren't always counted.
        var isOfRequests: Bool { rawValue < Series.calls.rawValue }
    }

    /// The current values of the gauge series.
    public struct Gauges: Sendable {
        /// The numbers of client connections and live-query clients.
        public var connections = 0, live = 0
        /// The numbers of busy database connections and of requests that wait for one.
        public var databaseActive = 0, databaseWaiting = 0
        /// The number of passwords waiting to be hashed.
        public var hashing = 0
        /// The memory of the process in bytes, or nil if unknown.
        public var memory: Int?

        public init() {}
    }

    /// The values of all series at one moment.
    public struct Point: Sendable {
        /// The time in seconds since 1970.
        public let at: Double
        fileprivate var values: [Float]

        /// The value of a series, or nil if unknown.
        public subscript(series: Series) -> Double? {
            values[series.rawValue].isNaN ? nil : Double(values[series.rawValue])
        }
    }

    /// Statistics of a route or of a kind of database operation.
    public struct Row: Sendable {
        /// The HTTP method of a route, or empty for a database operation.
        public let method: String
        /// The path template of the route or the name of the operation, or nil for unrouted requests.
        public let name: String?
        /// The number of requests or calls, and the numbers with client errors and with server errors.
        public let count: Int, clientErrors: Int, serverErrors: Int
        /// The mean, median and 99th percentile in milliseconds.
        public let mean: Double, p50: Double, p99: Double
    }

    /// The maximum numbers of ten-second points and minute points.
    package static let maxPoints = 360, maxMinutes = 1440
    private static let step = 10.0

    private let meters: Meters
    /// Whether HTTP requests are counted.
    public let countsRequests: Bool
    private let gauges = Mutex<(@Sendable () -> Gauges)?>(nil)
    private let state: Mutex<State>

    /// Starts the history with the current values of the meters.
    public init(_ meters: Meters, countsRequests: Bool) {
        self.meters = meters
        self.countsRequests = countsRequests
        let snapshot = Snapshot(meters, Gauges())
        state = Mutex(State(last: snapshot, minute: snapshot))
    }

    /// Sets the source of the gauge values, or nil for none.
    public func show(_ body: (@Sendable () -> Gauges)?) { gauges.withLock { $0 = body } }

    /// Samples the meters every ten seconds until the task is cancelled.
    public func run() async {
        while (try? await Task.sleep(for: .seconds(Self.step))) != nil { record() }
    }

    private var snapshot: Snapshot { Snapshot(meters, gauges.withLock { $0 }?() ?? Gauges()) }

    package func record() {
        let snapshot = snapshot
        state.withLock { state in
            state.ticks += 1
            let point = point(from: state.last, to: snapshot)
            Self.add(point, to: &state.points, limit: Self.maxPoints)
            state.highest =
                state.highest.map { before in
                    Series.allCases.map { max(before[$0.rawValue], point.values[$0.rawValue]) }
                } ?? point.values
            state.last = snapshot
            if state.ticks % 6 == 0 {
                var minute = self.point(from: state.minute, to: snapshot)
                for series in Series.allCases where series.isGauge {
                    minute.values[series.rawValue] = state.highest?[series.rawValue] ?? .nan
                }
                Self.add(minute, to: &state.minutes, limit: Self.maxMinutes)
                (state.minute, state.highest) = (snapshot, nil)
            }
            if state.ticks % 30 == 0 { Self.add(snapshot.tallies, to: &state.marks, limit: 13) }
            if state.ticks % 360 == 0 { Self.add(snapshot.tallies, to: &state.hours, limit: 25) }
        }
    }

    private static func add<Element>(_ element: Element, to list: inout [Element], limit: Int) {
        if list.count >= limit { list.removeFirst(list.count - limit + 1) }
        list.append(element)
    }

    /// Returns the points of a period that ends now, oldest first. Omits a last point that covers less than a second.
    ///
    /// - Parameter byMinute: Whether to return minutes of the last day instead of ten-second steps of the last hour.
    public func points(byMinute: Bool, within seconds: Double) -> [Point] {
        let snapshot = snapshot
        return state.withLock { state in
            let first = snapshot.tallies.at - seconds
            var points = (byMinute ? state.minutes : state.points).filter { $0.at >= first }
            let last = byMinute ? state.minute : state.last
            if snapshot.tallies.at - last.tallies.at >= 1 { points.append(point(from: last, to: snapshot)) }
            return points
        }
    }

    /// Returns statistics by route and by database operation, ordered by total duration, longest first.
    ///
    /// - Parameter seconds: The approximate length of the period. Limited to the server's uptime.
    /// - Returns: The rows, and the start of the period in seconds since 1970.
    public func rows(within seconds: Double) -> (routes: [Row], calls: [Row], since: Double) {
        let now = snapshot.tallies
        let before: Tallies = state.withLock { state in
            let marks = (state.hours + state.marks).sorted { $0.at < $1.at }
            return marks.last { $0.at <= now.at - seconds } ?? Tallies(at: state.start)
        }
        func rows(
            _ path: KeyPath<Tallies, [Int: Tally]>, _ bounds: Histogram.Bounds, _ name: (Int) -> (String, String?)
        ) -> [Row] {
            now[keyPath: path].compactMap { index, tally -> (total: UInt64, row: Row)? in
                let tally = tally - (before[keyPath: path][index] ?? Tally())
                guard tally.counts.count > 0 else { return nil }
                let (method, text) = name(index)
                return (tally.counts.nanoseconds, tally.row(method, text, bounds))
            }.sorted { $0.total > $1.total }.map(\.row)
        }
        let names = meters.requests.rows
        return (
            rows(\.routes, .requests) { (names[$0].method, names[$0].route) },
            rows(\.calls, .database) { ("", DatabaseMeters.Operation(rawValue: $0)?.text) }, before.at
        )
    }

    private func point(from before: Snapshot, to after: Snapshot) -> Point {
        let (old, new) = (before.tallies, after.tallies)
        let seconds = max(0.001, (after.time - before.time) / .seconds(1))
        let requests = new.all(\.routes) - old.all(\.routes)
        let calls = new.all(\.calls) - old.all(\.calls)
        let gauges = after.gauges
        let values = Series.allCases.map { series -> Float in
            if series.isOfRequests, !countsRequests { return .nan }
            let value: Double? =
                switch series {
                case .requests: Double(requests.counts.count) / seconds
                case .clientErrors: Double(requests.clientErrors) / seconds
                case .serverErrors: Double(requests.serverErrors) / seconds
                case .p50: requests.counts.milliseconds(of: 0.5, .requests)
                case .p99: requests.counts.milliseconds(of: 0.99, .requests)
                case .bytes: Double(max(0, new.sent - old.sent)) / seconds
                case .calls: Double(calls.counts.count) / seconds
                case .callErrors: Double(calls.serverErrors) / seconds
                case .callP50: calls.counts.milliseconds(of: 0.5, .database)
                case .callP99: calls.counts.milliseconds(of: 0.99, .database)
                case .connections: Double(gauges.connections)
                case .live: Double(gauges.live)
                case .databaseActive: Double(gauges.databaseActive)
                case .databaseWaiting: Double(gauges.databaseWaiting)
                case .hashing: Double(gauges.hashing)
                case .memory: gauges.memory.map { Double($0) }
                }
            return value.map { Float($0) } ?? .nan
        }
        return Point(at: new.at, values: values)
    }

    private struct State {
        let start = Date().timeIntervalSince1970
        var last: Snapshot
        var minute: Snapshot
        var ticks = 0
        var points: [Point] = []
        var minutes: [Point] = []
        /// The highest values of the current minute.
        var highest: [Float]?
        /// The totals every five minutes of the last hour.
        var marks: [Tallies] = []
        /// The totals every hour of the last day.
        var hours: [Tallies] = []
    }

    private struct Snapshot: Sendable {
        let time = ContinuousClock.now
        let tallies: Tallies
        let gauges: Gauges

        init(_ meters: Meters, _ gauges: Gauges) {
            self.gauges = gauges
            var tallies = Tallies(at: Date().timeIntervalSince1970)
            let totals = meters.requests.totals
            tallies.sent = totals.sent - totals.sentToOperators
            for (index, byStatus) in totals.durations where index != RequestMeters.operators {
                tallies.routes[index] = byStatus.reduce(into: Tally()) { tally, entry in
                    tally.add(
                        entry.value, isClientError: (400..<500).contains(entry.key), isServerError: entry.key >= 500)
                }
            }
            for operation in DatabaseMeters.Operation.allCases {
                tallies.calls[operation.rawValue] = meters.database.counts(of: operation).reduce(into: Tally()) {
                    $0.add($1.value, isClientError: false, isServerError: $1.key != 0)
                }
            }
            self.tallies = tallies
        }
    }
}
