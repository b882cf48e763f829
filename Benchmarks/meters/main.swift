// What it costs to count one request, in nanoseconds: ../experiments/metrics.py compiles it with the sources of Telemetry.

let requests = 100_000

/// Nanoseconds of each request.
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

// Short, and the least of many: what else the machine does is in the others.
print((0..<200).map { _ in measure() }.min() ?? 0)
