import Foundation
import JSON
import Telemetry
import TestTools
import Testing

@Suite("Traces")
struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test("The context of W3C is read, and written as it was")
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
        "What is no context is none",
        arguments: [
            "ff-\(trace)-\(span)-01", "00-\(String(repeating: "0", count: 32))-\(span)-01",
            "00-\(trace)-\(String(repeating: "0", count: 16))-01", "00-\(trace.uppercased())-\(span)-01",
            "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-more", "01-\(trace)-\(span)-01more",
            "00-\(trace)-\(span)-01, 00-\(trace)-\(span)-01", "", "00-\(trace)_\(span)-01",
        ])
    func noContext(text: String) {
        #expect(TraceContext(traceparent: text, tracestate: nil) == nil)
    }

    /// An exporter that keeps what it is to send.
    private final class Sent: Sendable {
        let exporter: SpanExporter

        init() {
            exporter = SpanExporter(resource: [], version: "1", send: { _ in .init(status: 200) }, warn: { _ in })
        }
    }

    @Test("A tenth of traces is a tenth, the caller's word counts before that, and only where it is believed")
    func sampling() throws {
        var settings = TraceRecording.Settings()
        settings.sampler = .ratio(0.1)
        let tracing = TraceRecording(settings, exporter: Sent().exporter)
        let count = (0..<100_000).count { _ in tracing.begin(nil, isProxy: false) != nil }
        #expect((9_000...11_000).contains(count))
        let sampled = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01", tracestate: nil))
        let unsampled = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: nil))
        for _ in 0..<100 {
            #expect(tracing.begin(sampled, isProxy: true)?.context.traceID == sampled.traceID)
            #expect(tracing.begin(unsampled, isProxy: true) == nil)
        }
        settings.sampler = .always
        let all = TraceRecording(settings, exporter: Sent().exporter)
        let own = try #require(all.begin(sampled, isProxy: false))
        #expect(own.context.traceID != sampled.traceID)
    }

    @Test(
        "Of a hundred thousand requests a tenth is exported, and every one that fails or is slow; a caller's no is kept to"
    )
    func keepSlow() throws {
        var settings = TraceRecording.Settings()
        settings.sampler = .ratio(0.1)
        settings.keepsSlow = true
        let tracing = TraceRecording(settings, exporter: Sent().exporter)
        let usual = (0..<100_000).count { _ in tracing.begin(nil, isProxy: false)?.end("a", [], isFailed: false) == true
        }
        #expect((9_000...11_000).contains(usual))
        for _ in 0..<1_000 {
            let (slow, failed) = (tracing.begin(nil, isProxy: false), tracing.begin(nil, isProxy: false))
            #expect(slow?.end("a", [], isFailed: false, isSlow: true) == true)
            #expect(failed?.end("a", [], isFailed: true) == true)
        }
        let unsampled = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-00", tracestate: nil))
        for _ in 0..<100 { #expect(tracing.begin(unsampled, isProxy: true) == nil) }
        // What a server that is called gets says what was decided, not what may become of it.
        let traces = (0..<1_000).compactMap { _ in tracing.begin(nil, isProxy: false) }
        for trace in traces {
            #expect(trace.begin().traceparent.hasSuffix(trace.context.isSampled ? "-01" : "-00"))
        }
    }

    @Test("What is kept of a request that was not sampled takes 64 KB at most")
    func keptBytes() async throws {
        var settings = TraceRecording.Settings()
        settings.sampler = .never
        settings.keepsSlow = true
        let (sent, spans) = (Gauge(), Gauge())
        let exporter = SpanExporter(
            resource: [], version: "1",
            send: { bytes in
                sent.add(bytes.count)
                spans.add(1)
                return .init(status: 200)
            }, warn: { _ in })
        let tracing = TraceRecording(settings, exporter: exporter)
        let trace = try #require(tracing.begin(nil, isProxy: false))
        let text = String(repeating: "x", count: 1_000)
        for _ in 0..<150 {
            trace.add("find Song", .client, took: .zero, [.text("a", text)], isFailed: false)
        }
        #expect(trace.end("GET /classes/{className}", [], isFailed: false, isSlow: true))
        await exporter.flush()
        #expect(spans.value == 1)
        #expect((40_000...65_536).contains(sent.value))
    }

    @Test("OpenTelemetry's own library reads the spans")
    func decoding() async throws {
        let context = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01", tracestate: "a=1"))
        var span = SpanRecord(
            traceID: context.traceID, id: 0x0102_0304_0506_0708, parent: context.spanID, state: "a=1", name: "GET /x",
            kind: .server, start: 1_700_000_000_000_000_001, end: 1_700_000_000_000_000_999,
            attributes: [.text("text", "\u{e4}\u{1F600}"), .number("number", -5), .number("large", 1 << 40)],
            isFailed: true, link: context)
        span.dropped = 3
        let bytes = OTLPWriter.request([span, span], resource: [.text("service.name", "roost")], version: "1")
        let outcome = try await Program.run(
            ["python3", Checkout.path("Tests/TelemetryTests/decode_spans.py")],
            environment: ["PYTHONPATH": Checkout.pythonLibraries], input: bytes)
        let read = try JSONValue(parsing: Array(outcome.output.utf8))
        #expect(read.arrayValue?.count == 2)
        let first = read.arrayValue?.first
        #expect(first?["traceId"] == .string(Self.trace))
        #expect(first?["spanId"] == "0102030405060708")
        #expect(first?["parentSpanId"] == .string(Self.span))
        #expect(first?["traceState"] == "a=1")
        #expect(first?["name"] == "GET /x")
        #expect(first?["kind"] == 2)
        #expect(first?["status"] == 2)
        #expect(first?["attributes"]?["text"] == "\u{e4}\u{1F600}")
        #expect(first?["attributes"]?["number"] == -5)
        #expect(first?["attributes"]?["large"]?.numberValue == Double(1 << 40))
        #expect(first?["attributes"]?["roost.dropped_spans"] == 3)
        #expect(first?["resource"]?["service.name"] == "roost")
        #expect(first?["links"]?.arrayValue?.first == .string(Self.trace))
    }

    @Test(
        "A collector that names no time to wait, or none at all, is asked again a few times",
        arguments: [Double.infinity, .nan, 0, -1, 1e300])
    func nonsense(seconds: Double) async throws {
        let answers = Gauge()
        let exporter = SpanExporter(
            resource: [], version: "1",
            send: { _ in
                answers.add(1)
                return .init(status: 503, retryAfter: seconds)
            }, warn: { _ in })
        let span = SpanRecord(
            traceID: .random(), id: 1, parent: nil, state: nil, name: "a", kind: .inside, start: 1, end: 2,
            attributes: [])
        exporter.add([span])
        await exporter.flush()
        #expect(exporter.outcomes[.failed] == 1)
        #expect((1...60).contains(answers.value))
    }

    @Test("A collector that does not answer keeps the end of the server waiting for three seconds")
    func silent() async throws {
        let exporter = SpanExporter(
            resource: [], version: "1",
            send: { _ in
                try await Task.sleep(for: .seconds(600))
                return .init(status: 200)
            }, warn: { _ in })
        let span = SpanRecord(
            traceID: .random(), id: 1, parent: nil, state: nil, name: "a", kind: .inside, start: 1, end: 2,
            attributes: [])
        exporter.add(Array(repeating: span, count: 600))
        let start = ContinuousClock.now
        await exporter.flush()
        let time = ContinuousClock.now - start
        #expect(time > .seconds(2) && time < .seconds(60))
        #expect(exporter.outcomes[.failed] == 512)
        #expect(exporter.outcomes[.dropped] == 88)
    }

    @Test("A collector that asks for patience at the end of the server gets what is left all the same")
    func interrupted() async throws {
        let answers = Gauge()
        let exporter = SpanExporter(
            resource: [], version: "1", delay: .milliseconds(10),
            send: { _ in
                answers.add(1)
                return answers.value == 1 ? .init(status: 503, retryAfter: 20) : .init(status: 200)
            }, warn: { _ in })
        let span = SpanRecord(
            traceID: .random(), id: 1, parent: nil, state: nil, name: "a", kind: .inside, start: 1, end: 2,
            attributes: [])
        exporter.add([span])
        let running = Task { await exporter.run() }
        while answers.value == 0 { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        await running.value
        await exporter.flush()
        #expect(exporter.outcomes[.exported] == 1)
        #expect(exporter.outcomes[.failed] == 0)
    }

    @Test("Spans that find no room are dropped and counted, and a collector that refuses loses no request")
    func exporter() async throws {
        let answers = Gauge()
        let exporter = SpanExporter(
            resource: [], version: "1", delay: .milliseconds(10), limit: .milliseconds(200),
            send: { _ in
                answers.add(1)
                return .init(status: answers.value == 1 ? 503 : 400, retryAfter: 0.01)
            }, warn: { _ in })
        let context = TraceContext(traceID: .random(), spanID: 1, isSampled: true)
        let span = SpanRecord(
            traceID: context.traceID, id: 1, parent: nil, state: nil, name: "a", kind: .inside, start: 1, end: 2,
            attributes: [])
        exporter.add(Array(repeating: span, count: 3000))
        #expect(exporter.outcomes[.dropped] == 952)
        await exporter.flush()
        #expect(exporter.outcomes[.failed] == 2048)
        #expect(answers.value >= 5)
    }
}
