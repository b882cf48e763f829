import JSON
import ParseModel
import Synchronization

/// How often what is offered was called in this process, how that ended, and how long the last calls took.
final class CloudCallCounts: Sendable {
    private struct Count {
        var calls = 0
        var errors = 0
        var last = ParseDate.now
        /// How long the last calls took, in milliseconds, as a ring.
        var times: [Float] = []
    }

    /// Bounded because requests can declare webhooks.
    private static let mostTargets = 2_000
    /// Calls sampled for the usual and longest time.
    private static let mostTimes = 200

    private let counts = Mutex<[CloudTarget: Count]>([:])

    func add(_ target: CloudTarget, _ duration: Duration, isFailed: Bool) {
        counts.withLock { counts in
            guard counts[target] != nil || counts.count < Self.mostTargets else { return }
            let time = Float(duration / .milliseconds(1))
            let now = ParseDate.now
            func note(_ count: inout Count) {
                if count.times.count < Self.mostTimes {
                    count.times.append(time)
                } else {
                    count.times[count.calls % Self.mostTimes] = time
                }
                count.calls += 1
                count.last = now
                if isFailed { count.errors += 1 }
            }
            note(&counts[target, default: Count()])
        }
    }

    /// What is known of a target: `calls`, `errors`, and where there were calls `p50`, `p99` and `last`.
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
