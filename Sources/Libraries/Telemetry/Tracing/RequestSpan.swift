import Synchronization
public import Tracing

/// The span of a request, or of an operation within one.
public final class RequestSpan: Span {
    struct State {
        var name: String
        var attributes = SpanAttributes()
        /// The caller's span, if its trace isn't continued.
        var link: TraceContext?
        var isFailed = false
        var hasEnded = false
        var isExported = false
    }

    public let context: InstrumentationContext
    let kind: SpanKind
    /// The start time in nanoseconds since 1970.
    package let start: UInt64
    let parent: UInt64?
    /// The trace and this span's id, or nil if the span isn't recorded.
    let place: TracePlace?
    private let isFirst: Bool
    private let state: Mutex<State>

    init(
        _ name: String, _ kind: SpanKind, _ context: InstrumentationContext, _ above: TracePlace?,
        of request: RecordedRequest?, start: UInt64
    ) {
        place = request.map { request in
            let trace = TraceContext(
                traceID: request.traceID, spanID: .random(in: 1 ... .max), isSampled: request.isSampled,
                state: request.state)
            return TracePlace(trace: trace, request: request)
        }
        var own = context
        if let place { own[TracePlace.self] = place }
        self.context = own
        self.kind = kind
        self.start = start
        parent = above?.trace.spanID
        isFirst = above?.request == nil
        state = Mutex(State(name: name))
    }

    /// The trace id for the log, or nil if the span isn't recorded.
    package var traceID: String? { place?.trace.traceID.text }
    /// The header field `traceparent` for outgoing requests, or nil if the span isn't recorded.
    package var traceparent: String? { place?.trace.traceparent }
    /// Whether the request is exported. Only set for the first span of a request, when it ends.
    package var isExported: Bool { state.withLock { $0.isExported } }

    public var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    public var isRecording: Bool { place != nil && state.withLock { !$0.hasEnded } }

    public func setStatus(_ status: SpanStatus) { state.withLock { $0.isFailed = status.code == .error } }

    public func addEvent(_ event: SpanEvent) {}

    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        state.withLock { $0.isFailed = true }
    }

    public func addLink(_ link: SpanLink) {
        guard let trace = link.context[TracePlace.self]?.trace else { return }
        state.withLock { $0.link = trace }
    }

    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let ended: State? = state.withLock { state in
            defer { state.hasEnded = true }
            return state.hasEnded ? nil : state
        }
        guard var ended, let place, let request = place.request else { return }
        let end = max(start, instant().nanosecondsSinceEpoch)
        guard isFirst else { return request.add(OTLP.span(self, place.trace, ended, end: end)) }
        let (spans, dropped) = request.end()
        guard request.isExported(isFailed: ended.isFailed, duration: .nanoseconds(end - start)) else { return }
        if dropped > 0 { ended.attributes["roost.dropped_spans"] = dropped }
        request.exporter.add([OTLP.span(self, place.trace, ended, end: end)] + spans)
        state.withLock { $0.isExported = true }
    }
}

/// A request whose spans are kept until it ends, because it is sampled, or may have to be exported if it is slow or
/// fails.
final class RecordedRequest: Sendable {
    private struct State {
        var spans: [[UInt8]] = []
        var bytes = 0
        var dropped = 0
        var hasEnded = false
    }

    let traceID: TraceContext.TraceID
    let isSampled: Bool
    let state: String?
    let exporter: SpanExporter
    private let slow: Duration?
    private let ended = Mutex(State())

    /// The limits of a request in spans and bytes, and the overhead of an array in bytes.
    private static let (maxSpans, maxBytes, arrayBytes) = (200, 64 * 1024, 32)

    init(
        _ traceID: TraceContext.TraceID, isSampled: Bool, state: String?, slow: Duration?, _ exporter: SpanExporter
    ) {
        self.traceID = traceID
        self.isSampled = isSampled
        self.state = state
        self.slow = slow
        self.exporter = exporter
    }

    func isExported(isFailed: Bool, duration: Duration) -> Bool {
        isSampled || isFailed || slow.map { duration >= $0 } ?? false
    }

    func add(_ span: [UInt8]) {
        ended.withLock { state in
            guard !state.hasEnded else { return }
            let bytes = state.bytes + span.count + Self.arrayBytes
            guard state.spans.count < Self.maxSpans, bytes <= Self.maxBytes else {
                state.dropped += 1
                return
            }
            state.bytes = bytes
            state.spans.append(span)
        }
    }

    /// Ends the request. Returns its spans and the number of spans dropped because of the limits.
    func end() -> (spans: [[UInt8]], dropped: Int) {
        ended.withLock { state in
            state.hasEnded = true
            defer { state.spans = [] }
            return (state.spans, state.dropped)
        }
    }
}
