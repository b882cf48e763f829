// Measures the cost of counting one request. ../experiments/metrics.py compiles it with the sources of Telemetry.

let requests = 100_000

/// Returns the nanoseconds per request.
func measure() -> Double {
    let meters = RequestMeters(routes: [.init(method: "GET", route: "/classes/{className}/{objectId}")], shards: 2)
    let clock = ContinuousClock()
    let took = clock.measure {
        for number in 0..<requests {
            let shard = meters[number & 1]
            shard.begin()
            shard.end(
                row: RequestMeters.firstRoute, status: number % 16 == 0 ? 404 : 200,
                duration: .nanoseconds(number % 20_000_000), received: 0, sent: 900)
        }
    }
    precondition(meters.totals.sent == requests * 900)
    return Double(took.wholeNanoseconds) / Double(requests)
}

// The minimum of many short runs, which other processes disturb least.
print((0..<200).map { _ in measure() }.min() ?? 0)
