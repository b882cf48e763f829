import Telemetry
import Testing

@Suite("Meters")
struct MeterTests {
    @Test("Counts a duration in the first bucket whose upper bound it doesn't exceed")
    func buckets() {
        let histogram = Histogram(.requests)
        for milliseconds in [5, 6, 10_000, 10_001] { histogram.record(.milliseconds(milliseconds)) }
        histogram.record(.zero)
        let counts = histogram.counts
        #expect(counts.buckets[0] == 2)
        #expect(counts.buckets[1] == 1)
        #expect(counts.buckets[13] == 1)
        #expect(counts.buckets[14] == 1)
        #expect(counts.count == 5)
        #expect(counts.nanoseconds == 20_012_000_000)
    }

    @Test("A histogram with fewer bounds counts longer durations in the overflow bucket")
    func fewerBuckets() {
        let histogram = Histogram(.database)
        histogram.record(.seconds(11))
        histogram.record(.seconds(10))
        #expect(histogram.counts.buckets[8] == 1)
        #expect(histogram.counts.buckets[14] == 1)
    }

    @Test("Concurrent counting loses nothing, and totals include all shards")
    func threads() async {
        let meters = RequestMeters(routes: [.init(method: "GET", route: "/a")], shards: 2)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for request in 0..<1000 {
                        let shard = meters[task]
                        shard.begin()
                        shard.end(
                            row: RequestMeters.firstRoute, status: request % 2 == 0 ? 200 : 404,
                            duration: .milliseconds(1), received: 1, sent: 2)
                    }
                }
            }
        }
        let totals = meters.totals
        #expect(totals.active == 0)
        #expect(totals.received == 8000)
        #expect(totals.sent == 16000)
        #expect(totals.durations[RequestMeters.firstRoute]?[200]?.count == 4000)
        #expect(totals.durations[RequestMeters.firstRoute]?[404]?.nanoseconds == 4_000_000_000)
    }

    @Test("Arbitrary statuses and methods of clients create few series")
    func cardinality() {
        let meters = RequestMeters(routes: [], shards: 1)
        for status in -10..<2000 {
            meters[0].end(
                row: RequestMeters.row(ofMethod: "M\(status)"), status: status, duration: .zero, received: 0, sent: 0)
        }
        let totals = meters.totals
        #expect(totals.durations.keys.map(\.self) == [RequestMeters.methods.count - 1])
        #expect(totals.durations.values.reduce(0) { $0 + $1.count } < 100)
    }
}
