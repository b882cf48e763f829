import Synchronization

/// The trace of one request that is recorded, or may turn out to be: its span, and those of what is done for it.
public final class RequestTrace: Sendable {
    /// A span that has begun.
    public struct Child: Sendable {
        /// Its id, for spans below it.
        public let id: UInt64
        fileprivate let parent: UInt64
        fileprivate let start: ContinuousClock.Instant
        /// What a server that is called gets as `traceparent`.
        public let traceparent: String
    }

    private struct State {
        var spans: [SpanRecord] = []
        /// The bytes that they take, roughly.
        var bytes = 0
        var dropped = 0
        var hasEnded = false
    }

    /// The trace, and the span of the request in it.
    public let context: TraceContext
    private let parent: UInt64?
    private let link: TraceContext?
    private let start: (instant: ContinuousClock.Instant, nanoseconds: UInt64)
    private let exporter: SpanExporter
    private let state = Mutex(State())

    /// The most spans of a request, and their bytes.
    private static let (mostSpans, mostBytes) = (200, 64 * 1024)

    init(
        _ context: TraceContext, parent: UInt64?, link: TraceContext?, nanoseconds: UInt64, exporter: SpanExporter
    ) {
        self.context = context
        self.parent = parent
        self.link = link
        start = (.now, nanoseconds)
        self.exporter = exporter
    }

    /// The id of the trace, for the log.
    public var id: String { context.traceID.text }

    /// Begins a span.
    ///
    /// - Parameter parent: The span that it is below; nil for that of the request.
    public func begin(below parent: UInt64? = nil) -> Child {
        let id = UInt64.random(in: 1 ... .max)
        let own = TraceContext(traceID: context.traceID, spanID: id, isSampled: context.isSampled)
        return Child(id: id, parent: parent ?? context.spanID, start: .now, traceparent: own.traceparent)
    }

    /// Ends a span.
    public func end(_ child: Child, _ name: String, _ kind: SpanSide, _ attributes: [SpanField], isFailed: Bool) {
        add(child.id, below: child.parent, name, kind, from: child.start, attributes, isFailed: isFailed)
    }

    /// Adds a span that took so long until now.
    public func add(
        _ name: String, _ kind: SpanSide, took duration: Duration, _ attributes: [SpanField], isFailed: Bool
    ) {
        add(
            .random(in: 1 ... .max), below: context.spanID, name, kind, from: .now - duration, attributes,
            isFailed: isFailed)
    }

    private func add(
        _ id: UInt64, below parent: UInt64, _ name: String, _ kind: SpanSide, from begin: ContinuousClock.Instant,
        _ attributes: [SpanField], isFailed: Bool
    ) {
        let span = SpanRecord(
            traceID: context.traceID, id: id, parent: parent, state: context.state, name: name, kind: kind,
            start: nanoseconds(at: begin), end: nanoseconds(at: .now), attributes: attributes, isFailed: isFailed)
        state.withLock { state in
            guard !state.hasEnded else { return }
            guard state.spans.count < Self.mostSpans, state.bytes + span.size <= Self.mostBytes else {
                state.dropped += 1
                return
            }
            state.bytes += span.size
            state.spans.append(span)
        }
    }

    /// Ends the span of the request, and hands all of them to the exporter; where the trace is not sampled, only those of a
    /// request that failed or was slow.
    ///
    /// - Returns: Whether they are exported.
    public func end(_ name: String, _ attributes: [SpanField], isFailed: Bool, isSlow: Bool = false) -> Bool {
        let (children, dropped) = state.withLock { state in
            state.hasEnded = true
            defer { state.spans = [] }
            return (state.spans, state.dropped)
        }
        guard context.isSampled || isFailed || isSlow else { return false }
        var span = SpanRecord(
            traceID: context.traceID, id: context.spanID, parent: parent, state: context.state, name: name,
            kind: .server, start: start.nanoseconds, end: nanoseconds(at: .now), attributes: attributes,
            isFailed: isFailed, link: link)
        span.dropped = dropped
        exporter.add([span] + children)
        return true
    }

    private func nanoseconds(at instant: ContinuousClock.Instant) -> UInt64 {
        instant < start.instant
            ? start.nanoseconds : start.nanoseconds + (instant - start.instant).wholeNanoseconds
    }
}
