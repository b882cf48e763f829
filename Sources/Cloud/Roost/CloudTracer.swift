public import Telemetry

/// Makes the spans of Swift cloud code, and of the libraries that it uses, part of the traces that the server records.
///
/// Call `InstrumentationSystem.bootstrap(CloudTracer())` at the start of the program; `withSpan` then adds spans below the
/// call. Spans outside of recorded requests aren't recorded.
public typealias CloudTracer = RequestTracer
