import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a server counted over time, for charts: the last hour in steps of ten seconds, the last day in minutes.
///
/// It looks at what metrics count anyway: requests pay nothing for it. What is kept is bounded, whatever is asked.
public final class FigureHistory: Sendable {
    /// What is drawn over time. Rates are for a second, times in milliseconds.
    public enum Series: Int, CaseIterable, Sendable {
        case requests, clientErrors, serverErrors, p50, p99, bytes
        case calls, callErrors, callP50, callP99
        case connections, live, databaseActive, databaseWaiting, hashing, memory

        /// Whether it says how the server stood, and not what happened meanwhile.
        var isGauge: Bool { rawValue >= Series.connections.rawValue }
        /// Whether it is about requests of HTTP, which are not always counted.
        var isOfRequests: Bool { rawValue < Series.calls.rawValue }
    }

    /// How a server stands at a moment.
    public struct Gauges: Sendable {
        /// Open connections of clients, and clients of live queries.
        public var connections = 0, live = 0
        /// Connections of the database that work, and requests that wait for one.
        public var databaseActive = 0, databaseWaiting = 0
        /// Passwords that wait to be hashed.
        public var hashing = 0
        /// Bytes of memory; nil where the system does not say.
        public var memory: Int?

        /// Empty.
        public init() {}
    }

    /// The series at a moment.
    public struct Point: Sendable {
        /// The moment, in seconds since 1970.
        public let at: Double
        fileprivate var values: [Float]

        /// The value of a series; nil where there is none.
        public subscript(series: Series) -> Double? {
            values[series.rawValue].isNaN ? nil : Double(values[series.rawValue])
        }
    }

    /// What was counted of one route, or of one kind of calls of the database.
    public struct Row: Sendable {
        /// The method of a route; empty for calls of the database.
        public let method: String
        /// The template of its path, or what was called; nil for paths of no route.
        public let name: String?
        /// How many there were, and how many of them failed by the client's and by the server's fault.
        public let count: Int, clientErrors: Int, serverErrors: Int
        /// Milliseconds: on average, of half of them at most, and of 99 of a hundred at most.
        public let mean: Double, p50: Double, p99: Double
    }

    /// How many points of ten seconds, and of a minute, are kept.
    package static let mostPoints = 360, mostMinutes = 1440
    private static let step = 10.0

    private let meters: Meters
    /// Whether HTTP requests are counted.
    public let countsRequests: Bool
    private let gauges = Mutex<(@Sendable () -> Gauges)?>(nil)
    private let state: Mutex<State>

    /// Begins with what is counted now.
    public init(_ meters: Meters, countsRequests: Bool) {
        self.meters = meters
        self.countsRequests = countsRequests
        let look = Look(meters, Gauges())
        state = Mutex(State(last: look, minute: look))
    }

    /// Takes what says how the server stands; nil for nothing more.
    public func show(_ body: (@Sendable () -> Gauges)?) { gauges.withLock { $0 = body } }

    /// Looks every ten seconds, until the task is cancelled.
    public func run() async {
        while (try? await Task.sleep(for: .seconds(Self.step))) != nil { note() }
    }

    private var look: Look { Look(meters, gauges.withLock { $0 }?() ?? Gauges()) }

    package func note() {
        let look = look
        state.withLock { state in
            state.ticks += 1
            let point = point(from: state.last, to: look)
            Self.add(point, to: &state.points, most: Self.mostPoints)
            state.highest =
                state.highest.map { before in
                    Series.allCases.map { max(before[$0.rawValue], point.values[$0.rawValue]) }
                } ?? point.values
            state.last = look
            if state.ticks % 6 == 0 {
                var minute = self.point(from: state.minute, to: look)
                for series in Series.allCases where series.isGauge {
                    minute.values[series.rawValue] = state.highest?[series.rawValue] ?? .nan
                }
                Self.add(minute, to: &state.minutes, most: Self.mostMinutes)
                (state.minute, state.highest) = (look, nil)
            }
            if state.ticks % 30 == 0 { Self.add(look.tallies, to: &state.marks, most: 13) }
            if state.ticks % 360 == 0 { Self.add(look.tallies, to: &state.hours, most: 25) }
        }
    }

    private static func add<Element>(_ element: Element, to list: inout [Element], most: Int) {
        if list.count >= most { list.removeFirst(list.count - most + 1) }
        list.append(element)
    }

    /// The points of the last seconds, the oldest first. The last one is of what happened since the last step.
    ///
    /// - Parameter byMinute: Whether they are minutes, of which a day is kept, or steps of ten seconds.
    public func points(byMinute: Bool, within seconds: Double) -> [Point] {
        let look = look
        return state.withLock { state in
            let first = look.tallies.at - seconds
            var points = (byMinute ? state.minutes : state.points).filter { $0.at >= first }
            let last = byMinute ? state.minute : state.last
            if look.tallies.at - last.tallies.at >= 1 { points.append(point(from: last, to: look)) }
            return points
        }
    }

    /// What was counted by route and by kind of calls, what took longest in all first.
    ///
    /// - Parameter seconds: How far back, about; at most as far as the server has been running.
    /// - Returns: The rows, and since when.
    public func rows(within seconds: Double) -> (routes: [Row], calls: [Row], since: Double) {
        let now = look.tallies
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

    private func point(from before: Look, to after: Look) -> Point {
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
        var last: Look
        var minute: Look
        var ticks = 0
        var points: [Point] = []
        var minutes: [Point] = []
        /// The highest values since the minute began.
        var highest: [Float]?
        /// What was counted every five minutes of an hour, and every hour of a day.
        var marks: [Tallies] = []
        var hours: [Tallies] = []
    }

    private struct Look: Sendable {
        let time = ContinuousClock.now
        let tallies: Tallies
        let gauges: Gauges

        init(_ meters: Meters, _ gauges: Gauges) {
            self.gauges = gauges
            var tallies = Tallies(at: Date().timeIntervalSince1970)
            let totals = meters.requests.totals
            tallies.sent = totals.sent
            for (index, byStatus) in totals.durations {
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
