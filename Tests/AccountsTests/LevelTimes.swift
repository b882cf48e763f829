import TestSupport

/// Whether two kinds of requests take the same time, however their answers come about.
enum LevelTimes {
    /// Sends as many requests of each kind as there are pairs, several at once, and compares how long they take.
    ///
    /// The two of a pair follow each other, in turns, so that whatever else the machine does meets both kinds alike. What
    /// is compared are the lower quartiles: other tests that take the processors add to the time of a request and never
    /// take from it, so those that were not kept waiting tell what it costs. Where nearly all are kept waiting even these
    /// may differ, so there are several attempts: a difference that is there is there every time.
    ///
    /// - Parameters:
    ///   - lanes: How many requests are under way at a time.
    ///   - send: Sends a request of the first or of the second kind.
    /// - Returns: Whether the quartiles were within a tenth of each other.
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
