import Foundation
import JSON
import Synchronization
import Telemetry
import TestTools
import Testing
import Tracing

@Suite("Traces")
struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test("Reads W3C trace contexts and writes them unchanged")
    func context() throws {
        let text = "00-\(Self.trace)-\(Self.span)-01"
        let context = try #require(TraceContext(traceparent: text, tracestate: "a=1,b=2"))
        #expect(context.traceparent == text)
        #expect(context.isSampled)
        #expect(context.state == "a=1,b=2")
        #expect(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: nil)?.isSampled == false)
        #expect(TraceContext(traceparent: "01-\(Self.trace)-\(Self.span)-01-more", tracestate: nil) != nil)
        let long = String(repeating: "a", count: 513)
        #expect(TraceContext(traceparent: text, tracestate: long)?.state == nil)
    }

    @Test(
        "Rejects malformed traceparent values",
        arguments: [
            "ff-\(trace)-\(span)-01", "00-\(String(repeating: "0", count: 32))-\(span)-01",
            "00-\(trace)-\(String(repeating: "0", count: 16))-01", "00-\(trace.uppercased())-\(span)-01",
            "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-more", "01-\(trace)-\(span)-01more",
            "00-\(trace)-\(span)-01, 00-\(trace)-\(span)-01", "", "00-\(trace)_\(span)-01",
        ])
    func noContext(text: String) {
        #expect(TraceContext(traceparent: text, tracestate: nil) == nil)
    }

    private struct Fields: Extractor, Injector {
        func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
    }

    private static func exporter(
        delay: Duration = .seconds(5), limit: Duration = .seconds(30),
        _ send: @escaping SpanExporter.Send = { _, _ in (200, nil) }
    ) -> SpanExporter {
        SpanExporter(resource: ["service.name": "roost"], version: "1", delay: delay, limit: limit, send: send) { _ in }
    }

    private static func tracer(
        ratio: Double, slow: Duration? = nil, _ exporter: SpanExporter = exporter()
    ) -> RequestTracer {
        var settings = RequestTracer.Settings()
        (settings.ratio, settings.slow) = (ratio, slow)
        return RequestTracer(settings, exporter: exporter)
    }

    private static func context(_ tracer: RequestTracer, _ fields: [String: String]) -> InstrumentationContext {
        var context = InstrumentationContext.topLevel
        tracer.extract(fields, into: &context, using: Fields())
        return context
    }

    /// Starts the span of a request, optionally below a caller's span.
    private static func start(_ tracer: RequestTracer, below span: String? = nil) -> RequestSpan {
        let context = context(tracer, span.map { ["traceparent": $0] } ?? [:])
        return tracer.startSpan("a", context: context, ofKind: .server)
    }

    /// Ends a request's span, and returns whether it is exported.
    private static func isExported(
        _ span: RequestSpan, isFailed: Bool = false, after duration: Duration = .zero
    ) -> Bool {
        if isFailed { span.setStatus(SpanStatus(code: .error)) }
        let end = span.start + UInt64(duration / .nanoseconds(1))
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end))
        return span.isExported
    }

    private static let sampled = "00-\(trace)-\(span)-01"
    private static let unsampled = "00-\(trace)-\(span)-00"

    @Test("Samples the configured ratio of traces, unless the caller has decided")
    func sampling() {
        let tracer = Self.tracer(ratio: 0.1)
        let count = (0..<100_000).count { _ in Self.start(tracer).isRecording }
        #expect((9_000...11_000).contains(count))
        for _ in 0..<100 {
            #expect(Self.start(tracer, below: Self.sampled).traceID == Self.trace)
            #expect(!Self.start(tracer, below: Self.unsampled).isRecording)
        }
        #expect(Self.start(Self.tracer(ratio: 1)).traceID != Self.trace)
    }

    @Test("Records cloud-code spans only within a recorded request")
    func cloudCode() {
        let tracer = RequestTracer()
        #expect(!Self.start(tracer).isRecording)
        #expect(!Self.start(tracer, below: Self.sampled).isRecording)
        let request = Self.start(Self.tracer(ratio: 1))
        let span = tracer.startSpan("b", context: request.context)
        #expect(span.isRecording && span.traceID == request.traceID)
        var fields: [String: String] = [:]
        tracer.inject(span.context, into: &fields, using: Fields())
        #expect(fields["traceparent"] == span.traceparent)
    }

    @Test("Exports a tenth of requests and all slow or failed ones, unless the caller decided against it")
    func keepSlow() {
        let tracer = Self.tracer(ratio: 0.1, slow: .seconds(1))
        let usual = (0..<100_000).count { _ in Self.isExported(Self.start(tracer)) }
        #expect((9_000...11_000).contains(usual))
        for _ in 0..<1_000 {
            #expect(Self.isExported(Self.start(tracer), after: .seconds(1)))
            #expect(Self.isExported(Self.start(tracer), isFailed: true))
        }
        for _ in 0..<100 { #expect(!Self.start(tracer, below: Self.unsampled).isRecording) }
        // Downstream calls get the sampling decision made at the start. Later events can't change it.
        var flags: Set<Bool> = []
        for _ in 0..<1_000 {
            let request = Self.start(tracer)
            let call = RequestTracer().startSpan("b", context: request.context, ofKind: .client)
            let isSampled = Self.isExported(request)
            #expect(call.traceparent?.hasSuffix(isSampled ? "-01" : "-00") == true)
            flags.insert(isSampled)
        }
        #expect(flags.count == 2)
    }

    @Test("Keeps at most 64 KB of spans for a request that wasn't sampled")
    func keptBytes() async {
        let (sent, requests) = (Gauge(), Gauge())
        let exporter = Self.exporter { bytes, _ in
            sent.add(bytes.count)
            requests.add(1)
            return (200, nil)
        }
        let request = Self.start(Self.tracer(ratio: 0, slow: .seconds(1), exporter))
        let text = String(repeating: "x", count: 1_000)
        for _ in 0..<150 {
            let span = RequestTracer().startSpan("find Song", context: request.context, ofKind: .client)
            span.attributes["a"] = text
            span.end()
        }
        #expect(Self.isExported(request, after: .seconds(1)))
        await exporter.flush()
        #expect(requests.value == 1)
        #expect((40_000...65_536).contains(sent.value))
    }

    @Test("Exports spans that OpenTelemetry's own library decodes")
    func decoding() async throws {
        let request = Mutex<[UInt8]>([])
        let exporter = Self.exporter { bytes, _ in
            request.withLock { $0 = bytes }
            return (200, nil)
        }
        let tracer = Self.tracer(ratio: 1, exporter)
        let given = Self.context(tracer, ["traceparent": Self.sampled, "tracestate": "a=1"])
        let span = tracer.startSpan("x", context: given, ofKind: .server)
        span.operationName = "GET /x"
        span.attributes = [
            "text": "\u{e4}\u{1F600}", "number": -5, "large": .int64(1 << 40),
            "long": .string(String(repeating: "\u{1F600}", count: 300) + "x"), "url.full": "http://secret",
        ]
        span.addLink(SpanLink(context: given, attributes: [:]))
        for _ in 0..<203 { RequestTracer().startSpan("find Song", context: span.context, ofKind: .client).end() }
        #expect(Self.isExported(span, isFailed: true))
        await exporter.flush()
        let outcome = try await Program.run(
            ["python3", Checkout.path("Tests/TelemetryTests/decode_spans.py")],
            environment: ["PYTHONPATH": Checkout.pythonLibraries], input: request.withLock { $0 })
        let read = try JSONValue(parsing: Array(outcome.output.utf8))
        #expect(read.arrayValue?.count == 201)
        let first = read.arrayValue?.first
        #expect(first?["traceId"] == .string(Self.trace))
        #expect(span.traceparent == "00-\(Self.trace)-\(first?["spanId"]?.stringValue ?? "")-01")
        #expect(first?["parentSpanId"] == .string(Self.span))
        #expect(first?["traceState"] == "a=1")
        #expect(first?["name"] == "GET /x")
        #expect(first?["kind"] == 2)
        #expect(first?["status"] == 2)
        #expect(first?["attributes"]?["text"] == "\u{e4}\u{1F600}")
        #expect(first?["attributes"]?["number"] == -5)
        #expect(first?["attributes"]?["large"]?.numberValue == Double(1 << 40))
        #expect(first?["attributes"]?["long"]?.stringValue?.utf8.count == 1024)
        #expect(first?["attributes"]?["url.full"] == nil)
        #expect(first?["attributes"]?["roost.dropped_spans"] == 3)
        #expect(first?["resource"]?["service.name"] == "roost")
        #expect(first?["links"]?.arrayValue?.first == .string(Self.trace))
        let child = read.arrayValue?.last
        #expect(child?["parentSpanId"] == first?["spanId"] && child?["kind"] == 3 && child?["name"] == "find Song")
    }

    @Test(
        "Retries a few times if the collector's retry delay is invalid",
        arguments: [Double.infinity, .nan, 0, -1, 1e300])
    func nonsense(seconds: Double) async {
        let answers = Gauge()
        let exporter = Self.exporter { _, _ in
            answers.add(1)
            return (503, seconds)
        }
        exporter.add([[0]])
        await exporter.flush()
        #expect(exporter.outcomes[.failed] == 1)
        #expect((1...60).contains(answers.value))
    }

    @Test("Stops waiting for an unresponsive collector at shutdown and counts the lost spans")
    func silent() async {
        let exporter = Self.exporter { _, timeLimit in
            try await Task.sleep(for: min(timeLimit, .seconds(600)))
            throw CancellationError()
        }
        exporter.add(Array(repeating: [0], count: 600))
        let start = ContinuousClock.now
        await exporter.flush()
        let time = ContinuousClock.now - start
        #expect(time > .seconds(2) && time < .seconds(60))
        #expect(exporter.outcomes[.failed] == 512)
        #expect(exporter.outcomes[.dropped] == 88)
    }

    @Test("Exports the remaining spans at shutdown even if the collector asked to wait")
    func interrupted() async throws {
        let answers = Gauge()
        let exporter = Self.exporter(delay: .milliseconds(10)) { _, _ in
            answers.add(1)
            return answers.value == 1 ? (503, 20) : (200, nil)
        }
        exporter.add([[0]])
        let running = Task { await exporter.run() }
        while answers.value == 0 { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        await running.value
        await exporter.flush()
        #expect(exporter.outcomes[.exported] == 1)
        #expect(exporter.outcomes[.failed] == 0)
    }

    @Test("Counts spans that don't fit as dropped and spans that the collector rejects as failed")
    func exporter() async {
        let answers = Gauge()
        let exporter = Self.exporter(delay: .milliseconds(10), limit: .milliseconds(200)) { _, _ in
            answers.add(1)
            return (answers.value == 1 ? 503 : 400, 0.01)
        }
        exporter.add(Array(repeating: [0], count: 3000))
        #expect(exporter.outcomes[.dropped] == 952)
        await exporter.flush()
        #expect(exporter.outcomes[.failed] == 2048)
        #expect(answers.value >= 5)
    }
}
