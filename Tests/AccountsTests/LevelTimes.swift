import TestSupport

/// Checks that two kinds of requests take the same time.
enum LevelTimes {
    /// Sends pairs of requests and compares their durations.
    ///
    /// The requests of a pair follow each other in alternating order, so that the machine's load affects both kinds
    /// equally. The lower quartiles are compared, because other tests only slow requests down, and undisturbed requests
    /// show the actual cost. Under heavy load, even the quartiles may differ, so there are several attempts: a real
    /// difference would show every time.
    ///
    /// - Parameters:
    ///   - lanes: The number of concurrent pairs.
    ///   - send: Sends a request of the first or the second kind.
    /// - Returns: Whether the quartiles differ by at most a tenth.
    static func hold(
        pairs: Int, lanes: Int, _ send: @escaping @Sendable (_ isFirst: Bool, _ lane: Int) async throws -> Void
    ) async throws -> Bool {
        try await eventually(within: .seconds(60)) {
            let times = try await concurrently(lanes) { lane in
                var times: [(isFirst: Bool, time: Duration)] = []
                for pair in 0..<pairs / lanes {
                    for isFirst in pair.isMultiple(of: 2) ? [true, false] : [false, true] {
                        let start = ContinuousClock.now
                        try await send(isFirst, lane)
                        times.append((isFirst, start.duration(to: .now)))
                    }
                }
                return times
            }
            let quartiles = [true, false].map { kind in
                let all = times.joined().filter { $0.isFirst == kind }.map(\.time).sorted()
                return all[all.count / 4]
            }
            return max(quartiles[0], quartiles[1]) < min(quartiles[0], quartiles[1]) * 1.1
        }
    }
}
