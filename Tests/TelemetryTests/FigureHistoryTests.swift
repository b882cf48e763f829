import Telemetry
import Testing

@Suite("Metrics history")
struct FigureHistoryTests {
    private static func meters() -> Meters {
        Meters(requests: RequestMeters(routes: [.init(method: "GET", route: "/a")], shards: 2))
    }

    private static func request(
        _ meters: Meters, status: Int, milliseconds: Int, row: Int = RequestMeters.firstRoute
    ) {
        meters.requests[0].begin()
        meters.requests[0].end(
            row: row, status: status, duration: .milliseconds(milliseconds), received: 0,
            sent: 1000)
    }

    @Test("Each point has only the rates, latencies and gauges of its ten seconds")
    func steps() {
        let meters = Self.meters()
        Self.request(meters, status: 200, milliseconds: 9000)
        let history = FigureHistory(meters, countsRequests: true)
        var gauges = FigureHistory.Gauges()
        gauges.connections = 7
        history.show { [gauges] in gauges }
        for status in [200, 200, 404, 500] { Self.request(meters, status: status, milliseconds: 20) }
        history.record()
        history.record()
        let points = history.points(byMinute: false, within: 3600)
        #expect(points.count == 2)
        let (first, second) = (points[0], points[1])
        #expect(first[.requests] ?? 0 > 0 && first[.serverErrors] == first[.clientErrors])
        #expect(first[.p50] ?? 0 > 10 && first[.p99] ?? 99 <= 25)
        #expect(first[.connections] == 7 && first[.memory] == nil)
        #expect(second[.requests] == 0 && second[.p99] == nil && second[.bytes] == 0)
        let rows = history.rows(within: 3600)
        #expect(rows.routes.count == 1 && rows.routes[0].name == "/a" && rows.routes[0].count == 5)
        #expect(rows.routes[0].clientErrors == 1 && rows.routes[0].serverErrors == 1)
    }

    @Test("Leaves out the console's requests")
    func console() {
        let meters = Self.meters()
        let history = FigureHistory(meters, countsRequests: true)
        Self.request(meters, status: 200, milliseconds: 20)
        for _ in 0..<9 { Self.request(meters, status: 503, milliseconds: 20_000, row: RequestMeters.operators) }
        history.record()
        let points = history.points(byMinute: false, within: 3600)
        #expect(points[0][.p99] ?? 99 <= 25 && points[0][.serverErrors] == 0)
        let (bytes, requests) = (points[0][.bytes] ?? 0, points[0][.requests] ?? 0)
        #expect(abs(bytes - 1000 * requests) <= bytes / 100, "only the response to the app counts")
        #expect(history.rows(within: 3600).routes.map(\.name) == ["/a"])
    }

    @Test("Records database calls even if requests aren't counted")
    func withoutRequests() throws {
        let meters = Self.meters()
        let history = FigureHistory(meters, countsRequests: false)
        meters.database.add(.find, .milliseconds(3))
        meters.database.add(.find, .milliseconds(3), errorClass: "57")
        history.record()
        let point = try #require(history.points(byMinute: false, within: 60).first)
        #expect(point[.requests] == nil && point[.p99] == nil && point[.calls] ?? 0 > 0)
        let row = try #require(history.rows(within: 60).calls.first)
        #expect(row.name == "find" && row.count == 2 && row.serverErrors == 1)
    }

    @Test("Keeps at most an hour of ten-second points and a day of minutes")
    func bounds() {
        let meters = Self.meters()
        let history = FigureHistory(meters, countsRequests: true)
        for _ in 0..<(FigureHistory.maxMinutes + 10) * 6 { history.record() }
        #expect(history.points(byMinute: false, within: .infinity).count == FigureHistory.maxPoints)
        #expect(history.points(byMinute: true, within: .infinity).count == FigureHistory.maxMinutes)
    }

    @Test("A single duration is its own maximum, and few durations limit each other's percentiles")
    func fewSamples() {
        for (bounds, milliseconds) in [
            (Histogram.Bounds.requests, 6), (.database, 6), (.requests, 2), (.database, 900),
        ] {
            let histogram = Histogram(bounds)
            histogram.record(.milliseconds(milliseconds))
            let (median, most) = (
                histogram.counts.milliseconds(of: 0.5, bounds), histogram.counts.milliseconds(of: 0.99, bounds)
            )
            #expect(
                most == Double(milliseconds) && median ?? 0 <= Double(milliseconds), "\(milliseconds) \(median ?? 0)")
        }
        let histogram = Histogram(.database)
        for _ in 0..<4 { histogram.record(.milliseconds(11)) }
        #expect(histogram.counts.milliseconds(of: 0.99, .database) == 14)
        #expect(histogram.counts.milliseconds(of: 0.5, .database) == 12)
    }

    @Test("Interpolates percentiles within a bucket and caps them at the last bound")
    func shares() {
        let histogram = Histogram(.requests)
        #expect(histogram.counts.milliseconds(of: 0.5, .requests) == nil)
        for number in 0..<10 { histogram.record(.microseconds(5_250 + 500 * number)) }
        #expect(histogram.counts.milliseconds(of: 0.5, .requests) == 7.5)
        for _ in 0..<10 { histogram.record(.seconds(60)) }
        #expect(histogram.counts.milliseconds(of: 0.99, .requests) == 10_000)
    }
}
