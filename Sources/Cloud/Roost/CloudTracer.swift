public import Telemetry

/// Adds the spans of Swift cloud code and its libraries to the server's traces.
///
/// Call `InstrumentationSystem.bootstrap(CloudTracer())` at the start of the program; `withSpan` then adds spans below
/// the current cloud-code call. Spans outside recorded requests are dropped.
public typealias CloudTracer = RequestTracer
