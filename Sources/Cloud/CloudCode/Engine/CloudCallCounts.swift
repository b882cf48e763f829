import JSON
import ParseModel
import Synchronization

/// Counts calls and failures per target in this process, and records the durations of the latest calls.
final class CloudCallCounts: Sendable {
    private struct Count {
        var calls = 0
        var errors = 0
        var last = ParseDate.now
        /// A ring buffer of the latest durations, in milliseconds.
        var times: [Float] = []
    }

    /// The maximum number of counted targets. Bounded because requests can register webhooks.
    private static let maxTargets = 2_000
    /// The number of recent durations per target, from which p50 and p99 are computed.
    private static let maxDurations = 200

    private let counts = Mutex<[CloudTarget: Count]>([:])

    func add(_ target: CloudTarget, _ duration: Duration, isFailed: Bool) {
        counts.withLock { counts in
            guard counts[target] != nil || counts.count < Self.maxTargets else { return }
            let time = Float(duration / .milliseconds(1))
            let now = ParseDate.now
            func record(_ count: inout Count) {
                if count.times.count < Self.maxDurations {
                    count.times.append(time)
                } else {
                    count.times[count.calls % Self.maxDurations] = time
                }
                count.calls += 1
                count.last = now
                if isFailed { count.errors += 1 }
            }
            record(&counts[target, default: Count()])
        }
    }

    /// Returns the statistics of a target: `calls`, `errors` and, after the first call, `p50` and `p99` in milliseconds
    /// and `last`, the time of the latest call.
    func json(of target: CloudTarget) -> JSONObject {
        guard let count = counts.withLock({ $0[target] }) else { return ["calls": 0, "errors": 0] }
        let times = count.times.sorted()
        func time(_ share: Double) -> JSONValue {
            let time = times[min(times.count - 1, Int(share * Double(times.count)))]
            return .number((Double(time) * 10).rounded() / 10)
        }
        return [
            "calls": .number(Double(count.calls)), "errors": .number(Double(count.errors)), "p50": time(0.5),
            "p99": time(0.99), "last": .string(count.last.iso),
        ]
    }
}
