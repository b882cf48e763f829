import CloudCode
import Synchronization
import Telemetry
public import Tracing

/// Has spans of Swift cloud code, and of the libraries that it uses, be part of the traces that the server records.
///
/// `InstrumentationSystem.bootstrap(CloudTracer())` at the start of the program is all that is needed; `withSpan` then
/// adds spans below the call. What no recorded request asked for is not recorded.
public struct CloudTracer: Tracer {
    /// Makes a tracer.
    public init() {}

    public func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> InstrumentationContext, ofKind kind: Tracing.SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> CloudSpan {
        CloudSpan(operationName, kind, context())
    }

    public func forceFlush() {}

    /// Traces of others begin in the server, and not in its cloud code.
    public func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    public func inject<Carrier, Inject: Injector>(
        _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let place = context[TracePlace.self] else { return }
        injector.inject(place.traceparent, forKey: "traceparent", into: &carrier)
    }
}

/// Where the current task is in a trace.
enum TracePlace: InstrumentationContextKey {
    struct Value: Sendable {
        let trace: RequestTrace
        let span: UInt64
        let traceparent: String
    }

    static var nameOverride: String? { "roost-trace" }

    /// Runs cloud code so that its spans are below that of the call.
    static func run<R>(_ call: CloudCall, _ body: () async throws -> R) async rethrows -> R {
        guard let trace = call.trace, let span = call.traceSpan else { return try await body() }
        var context = InstrumentationContext.current ?? .topLevel
        context[TracePlace.self] = Value(trace: trace, span: span, traceparent: call.traceparent)
        return try await InstrumentationContext.$current.withValue(context) { try await body() }
    }
}

/// A span of cloud code.
public final class CloudSpan: Tracing.Span {
    private struct State {
        var name: String
        var attributes = SpanAttributes()
        var isFailed = false
        var hasEnded = false
    }

    public let context: InstrumentationContext
    private let side: SpanSide
    private let place: TracePlace.Value?
    private let child: RequestTrace.Child?
    private let state: Mutex<State>

    init(_ name: String, _ kind: Tracing.SpanKind, _ context: InstrumentationContext) {
        place = context[TracePlace.self]
        child = place?.trace.begin(below: place?.span)
        side = kind == .client ? .client : kind == .server ? .server : .inside
        state = Mutex(State(name: name))
        var own = context
        if let place, let child {
            own[TracePlace.self] = TracePlace.Value(
                trace: place.trace, span: child.id, traceparent: child.traceparent)
        }
        self.context = own
    }

    public var operationName: String {
        get { state.withLock { $0.name } }
        set { state.withLock { $0.name = newValue } }
    }

    public var attributes: SpanAttributes {
        get { state.withLock { $0.attributes } }
        set { state.withLock { $0.attributes = newValue } }
    }

    public var isRecording: Bool { child != nil && state.withLock { !$0.hasEnded } }

    public func setStatus(_ status: SpanStatus) { state.withLock { $0.isFailed = status.code == .error } }

    public func addEvent(_ event: SpanEvent) {}

    public func recordError<Instant: TracerInstant>(
        _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
    ) {
        state.withLock { $0.isFailed = true }
    }

    public func addLink(_ link: SpanLink) {}

    public func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
        let ended: State? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            return state
        }
        guard let ended, let place, let child else { return }
        var fields: [SpanField] = []
        // Attributes are no sequence.
        // swift-format-ignore: ReplaceForEachWithForLoop
        ended.attributes.forEach { name, value in
            // Whole addresses have tokens and signatures in them.
            guard name != "url.full", name != "url.query" else { return }
            switch value {
            case .string(let text): fields.append(.text(name, text))
            case .int32(let number): fields.append(.number(name, Int(number)))
            case .int64(let number): fields.append(.number(name, Int(number)))
            case .bool(let flag): fields.append(.text(name, "\(flag)"))
            case .double(let number): fields.append(.text(name, "\(number)"))
            case .stringConvertible(let value): fields.append(.text(name, "\(value)"))
            default: break
            }
        }
        place.trace.end(child, ended.name, side, fields, isFailed: ended.isFailed)
    }
}
