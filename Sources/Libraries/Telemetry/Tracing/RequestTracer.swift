public import Tracing

/// Begins the spans of requests and of the work for them, and reads and writes W3C's Trace Context.
///
/// A span below a recorded request is recorded with it. Only the server's own tracer begins to record.
public struct RequestTracer: Tracer {
    /// Which requests are recorded.
    package struct Settings: Sendable {
        /// The callers whose `traceparent` is followed: apps and browsers could have every request recorded.
        package enum Trust: Sendable {
            case proxy, all, none
        }

        /// The share of traces that are recorded. All processes decide the same about a trace.
        package var ratio = 0.01
        /// Whether the caller of a trace decides whether it is recorded.
        package var followsParent = true
        package var trust = Trust.proxy
        /// The duration from which on unsampled requests are exported, as are those that fail; nil for neither.
        package var slow: Duration?

        package init() {}

        func samples(_ id: TraceContext.TraceID) -> Bool {
            Double(id.low & 0xFF_FFFF_FFFF_FFFF) < ratio * Double(1 << 56)
        }
    }

    private let sampling: (settings: Settings, exporter: SpanExporter)?

    /// Makes a tracer for cloud code.
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

    /// Decides whether a request is recorded. Returns nil if not, whatever its outcome.
    private func begin(below parent: TraceContext?) -> RecordedRequest? {
        guard let (settings, exporter) = sampling else { return nil }
        let id = parent?.traceID ?? .random()
        let decider = settings.followsParent ? parent : nil
        let isSampled = decider?.isSampled ?? settings.samples(id)
        // A caller that doesn't record has no trace for the request, however slow it is.
        let slow = decider == nil ? settings.slow : nil
        guard isSampled || slow != nil else { return nil }
        return RecordedRequest(id, isSampled: isSampled, state: parent?.state, slow: slow, exporter)
    }

    public func forceFlush() {}

    /// Reads the caller's trace. Cloud code begins no traces, so its tracer reads none.
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

/// The current span, or that of the caller.
struct TracePlace: InstrumentationContextKey {
    typealias Value = TracePlace
    static var nameOverride: String? { "roost-trace" }

    let trace: TraceContext
    /// The request that the span is recorded with, or nil for a span of another server.
    let request: RecordedRequest?
}
