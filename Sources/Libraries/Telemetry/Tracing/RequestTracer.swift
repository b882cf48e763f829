public import Tracing

/// Starts the spans of requests and their operations, and propagates W3C Trace Context.
///
/// A span within a recorded request is recorded with it. Only the server's own tracer starts recordings.
public struct RequestTracer: Tracer {
    /// The rules that select the requests to record.
    package struct Settings: Sendable {
        /// The callers whose `traceparent` is trusted. Apps and browsers could otherwise have every request recorded.
        package enum Trust: Sendable {
            case proxy, all, none
        }

        /// The share of traces to record, from 0 to 1. Trace ids select them, so that all processes decide alike.
        package var ratio = 0.01
        /// Whether the caller's sampling decision applies to its requests.
        package var followsParent = true
        package var trust = Trust.proxy
        /// The duration from which unsampled requests are exported. If set, failed ones are exported too.
        package var slow: Duration?

        package init() {}

        func samples(_ id: TraceContext.TraceID) -> Bool {
            Double(id.low & 0xFF_FFFF_FFFF_FFFF) < ratio * Double(1 << 56)
        }
    }

    private let sampling: (settings: Settings, exporter: SpanExporter)?

    /// Creates a tracer for cloud code, which records spans only within recorded requests.
    public init() { sampling = nil }

    package init(_ settings: Settings, exporter: SpanExporter) { sampling = (settings, exporter) }

    package var trust: Settings.Trust { sampling?.settings.trust ?? Settings.Trust.none }

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> RequestSpan {
        let context = context()
        let above = context[TracePlace.self]
        return RequestSpan(
            operationName, kind, context, above, of: above?.request ?? begin(below: above?.trace),
            start: instant().nanosecondsSinceEpoch)
    }

    /// Starts the recording of a request. Returns nil if the request isn't exported even if it is slow or fails.
    private func begin(below parent: TraceContext?) -> RecordedRequest? {
        guard let (settings, exporter) = sampling else { return nil }
        let id = parent?.traceID ?? .random()
        let decider = settings.followsParent ? parent : nil
        let isSampled = decider?.isSampled ?? settings.samples(id)
        // If the caller doesn't record its trace, exporting slow requests alone would leave incomplete traces.
        let slow = decider == nil ? settings.slow : nil
        guard isSampled || slow != nil else { return nil }
        return RecordedRequest(id, isSampled: isSampled, state: parent?.state, slow: slow, exporter)
    }

    public func forceFlush() {}

    /// Extracts the caller's trace. The tracer of cloud code extracts nothing, because it doesn't start traces.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard sampling != nil, let parent = extractor.extract(key: "traceparent", from: carrier),
            let trace = TraceContext(
                traceparent: parent, tracestate: extractor.extract(key: "tracestate", from: carrier))
        else { return }
        context[TracePlace.self] = TracePlace(trace: trace, request: nil)
    }

    public func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context[TracePlace.self] else { return }
        injector.inject(place.trace.traceparent, forKey: "traceparent", into: &carrier)
    }
}

/// The current span, or the caller's span.
struct TracePlace: InstrumentationContextKey {
    typealias Value = TracePlace
    static var nameOverride: String? { "roost-trace" }

    let trace: TraceContext
    /// The request with which the span is recorded, or nil if another server recorded the span.
    let request: RecordedRequest?
}
