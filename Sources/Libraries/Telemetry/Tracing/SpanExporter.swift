import Synchronization
import Tracing

/// Sends spans to a collector in the background. Counts and drops spans that can't be sent in time.
public final class SpanExporter: Sendable {
    public enum Outcome: Int, Label { case exported, dropped, failed }

    /// Sends an OTLP request within a time limit, and returns the HTTP status and the seconds of `Retry-After`.
    package typealias Send =
        @Sendable (_ request: [UInt8], _ timeLimit: Duration) async throws -> (status: Int, retryAfter: Double?)

    /// The number of spans by outcome.
    public let outcomes = Counters<Outcome>()
    private let queue = Mutex<[[UInt8]]>([])
    private let resource: SpanAttributes
    private let version: String
    private let delay: Duration
    private let limit: Duration
    private let send: Send
    private let warn: @Sendable (String) -> Void

    private static let maxWaiting = 2048
    private static let batch = 512

    /// - Parameters:
    ///   - delay: The time during which spans are collected for a batch.
    ///   - limit: The time after which a batch is dropped.
    ///   - warn: Receives the reason if a batch is dropped.
    package init(
        resource: SpanAttributes, version: String, delay: Duration = .seconds(5), limit: Duration = .seconds(30),
        send: @escaping Send, warn: @escaping @Sendable (String) -> Void
    ) {
        self.resource = resource
        self.version = version
        self.delay = delay
        self.limit = limit
        self.send = send
        self.warn = warn
    }

    package func add(_ spans: [[UInt8]]) {
        let dropped = queue.withLock { queue in
            let room = max(0, Self.maxWaiting - queue.count)
            queue += spans.prefix(room)
            return max(0, spans.count - room)
        }
        if dropped > 0 { outcomes.add(.dropped, dropped) }
    }

    /// Sends spans until the task is cancelled.
    public func run() async {
        while !Task.isCancelled {
            let end = ContinuousClock.now + delay
            while ContinuousClock.now < end, queue.withLock({ $0.count < Self.batch }), !Task.isCancelled {
                try? await Task.sleep(for: min(delay, .milliseconds(100)))
            }
            guard !Task.isCancelled else { return }
            await sendBatch(until: .now + limit)
        }
    }

    /// Sends the remaining spans, for at most three seconds. Drops the rest.
    public func flush() async {
        let end = ContinuousClock.now + .seconds(3)
        while ContinuousClock.now < end, await sendBatch(until: end) {}
        let rest = queue.withLock { queue in
            defer { queue = [] }
            return queue.count
        }
        if rest > 0 { outcomes.add(.dropped, rest) }
    }

    /// Sends a batch. Returns false if no spans are queued, or on cancellation, which leaves the batch to ``flush()``.
    @discardableResult
    private func sendBatch(until end: ContinuousClock.Instant) async -> Bool {
        let spans = dequeueBatch()
        guard !spans.isEmpty else { return false }
        let request = OTLP.request(spans, resource: resource, version: version)
        var pause = Duration.seconds(1)
        while true {
            let reason: String
            do {
                let answer = try await send(request, end - .now)
                if (200..<300).contains(answer.status) {
                    outcomes.add(.exported, spans.count)
                    return true
                }
                reason = "the collector responded with \(answer.status)"
                guard [429, 502, 503, 504].contains(answer.status) else { return giveUp(spans, reason) }
                // An invalid or zero value must not cause a busy loop.
                if let seconds = answer.retryAfter, (0...3600).contains(seconds) { pause = .seconds(max(0.1, seconds)) }
            } catch {
                reason = "\(error)"
            }
            let jittered = pause * Double.random(in: 0.8...1.2)
            guard Task.isCancelled || ContinuousClock.now + jittered < end else { return giveUp(spans, reason) }
            guard (try? await Task.sleep(for: jittered)) != nil else {
                queue.withLock { $0.insert(contentsOf: spans, at: 0) }
                return false
            }
            pause = min(pause * 2, .seconds(10))
        }
    }

    private func dequeueBatch() -> [[UInt8]] {
        queue.withLock { queue in
            let batch = Array(queue.prefix(Self.batch))
            queue.removeFirst(batch.count)
            return batch
        }
    }

    private func giveUp(_ spans: [[UInt8]], _ reason: String) -> Bool {
        outcomes.add(.failed, spans.count)
        warn(reason)
        return true
    }
}
