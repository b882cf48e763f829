import Synchronization

/// Sends spans to a collector, beside all requests: what it cannot send in time is dropped and counted.
public final class SpanExporter: Sendable {
    /// What a collector answered.
    public struct Answer: Sendable {
        /// The status of HTTP.
        public var status: Int
        /// After how many seconds it wants to be asked again; nil where it does not say.
        public var retryAfter: Double?

        /// An answer.
        public init(status: Int, retryAfter: Double? = nil) {
            self.status = status
            self.retryAfter = retryAfter
        }

        /// Whether the same may be sent once more.
        var isPassing: Bool { [429, 502, 503, 504].contains(status) }
    }

    /// What became of spans.
    public enum Outcome: Int, Label { case exported, dropped, failed }

    /// Sends a request of the protocol.
    public typealias Send = @Sendable ([UInt8]) async throws -> Answer

    /// The spans, by what became of them.
    public let outcomes = Counters<Outcome>()
    private let queue = Mutex<[SpanRecord]>([])
    private let resource: [SpanField]
    private let version: String
    private let delay: Duration
    private let limit: Duration
    private let send: Send
    private let warn: @Sendable (String) -> Void

    private static let mostWaiting = 2048
    private static let batch = 512

    /// - Parameters:
    ///   - resource: What the process is.
    ///   - delay: How long spans are gathered.
    ///   - limit: How long it is tried to send a batch.
    ///   - send: Sends a request.
    ///   - warn: Gets why a batch was given up.
    public init(
        resource: [SpanField], version: String, delay: Duration = .seconds(5), limit: Duration = .seconds(30),
        send: @escaping Send, warn: @escaping @Sendable (String) -> Void
    ) {
        self.resource = resource
        self.version = version
        self.delay = delay
        self.limit = limit
        self.send = send
        self.warn = warn
    }

    /// Takes spans, as far as there is room.
    package func add(_ spans: [SpanRecord]) {
        let dropped = queue.withLock { queue in
            let room = max(0, Self.mostWaiting - queue.count)
            queue += spans.prefix(room)
            return max(0, spans.count - room)
        }
        if dropped > 0 { outcomes.add(.dropped, dropped) }
    }

    /// Sends what comes until the task is cancelled.
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

    /// Sends what is left, for three seconds at most.
    public func flush() async {
        let end = ContinuousClock.now + .seconds(3)
        while ContinuousClock.now < end, await sendBatch(until: end) {}
        let rest = queue.withLock { queue in
            defer { queue = [] }
            return queue.count
        }
        if rest > 0 { outcomes.add(.dropped, rest) }
    }

    /// Sends a batch; false where there is none.
    @discardableResult
    private func sendBatch(until end: ContinuousClock.Instant) async -> Bool {
        let spans = takeBatch()
        guard !spans.isEmpty else { return false }
        let bytes = OTLPWriter.request(spans, resource: resource, version: version)
        var pause = Duration.seconds(1)
        while true {
            var reason: String
            do {
                let answer = try await answer(to: bytes, until: end)
                if (200..<300).contains(answer.status) {
                    outcomes.add(.exported, spans.count)
                    return true
                }
                reason = "the collector answers \(answer.status)"
                guard answer.isPassing else {
                    giveUp(spans.count, reason)
                    return true
                }
                // A collector that says nonsense, or `0`, is not asked in a loop.
                if let seconds = answer.retryAfter, (0...3600).contains(seconds) { pause = .seconds(max(0.1, seconds)) }
            } catch {
                reason = "\(error)"
            }
            if Task.isCancelled {
                // What is left at the end is sent by ``flush()``.
                queue.withLock { $0.insert(contentsOf: spans, at: 0) }
                return false
            }
            let jittered = pause * Double.random(in: 0.8...1.2)
            guard ContinuousClock.now + jittered < end else {
                giveUp(spans.count, reason)
                return true
            }
            guard (try? await Task.sleep(for: jittered)) != nil else {
                queue.withLock { $0.insert(contentsOf: spans, at: 0) }
                return false
            }
            pause = min(pause * 2, .seconds(10))
        }
    }

    private struct TookTooLong: Error, CustomStringConvertible { let description = "the collector does not answer" }

    /// Sends a request, and waits no longer for the answer than until a moment.
    private func answer(to bytes: [UInt8], until end: ContinuousClock.Instant) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer.self) { [send] group in
            group.addTask { try await send(bytes) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                throw TookTooLong()
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw TookTooLong() }
            return answer
        }
    }

    private func takeBatch() -> [SpanRecord] {
        queue.withLock { queue in
            let batch = Array(queue.prefix(Self.batch))
            queue.removeFirst(batch.count)
            return batch
        }
    }

    private func giveUp(_ count: Int, _ reason: String) {
        outcomes.add(.failed, count)
        warn(reason)
    }
}
