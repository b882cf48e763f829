import JSON
import TestSupport
import Testing

@Suite("Traces of requests")
struct TracingTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00-\(trace)-00f067aa0ba902b7-01"

    private static func options(_ collector: SpanCollector, _ more: JSONObject = [:]) -> JSONObject {
        let usual: JSONObject = [
            "tracingEndpoint": .string(collector.address), "tracingHeaders": "Authorization=Bearer%20key",
            "tracingSampler": "parentbased_always_on",
        ]
        return usual.merging(more) { $1 }
    }

    @Test("A save with a webhook before it is one trace, whose spans have no secret in them")
    func tree() async throws {
        try await SpanCollector.run { collector in
            try await WebhookServer.run { hooks in
                hooks.on("before") { _ in .success([:]) }
                try await TestServer.run(Self.options(collector, ["trustProxy": "loopback"])) { server in
                    _ = try await server.send(
                        "POST", "/hooks/triggers",
                        ["className": "Song", "triggerName": "beforeSave", "url": .string(hooks.url("before"))],
                        as: .master)
                    let answer = try await server.send(
                        "POST", "/classes/Song?secret=query", ["title": "secret"],
                        headers: ["traceparent": Self.parent, "tracestate": "a=1"])
                    #expect(answer.status == 201)
                    let header = hooks.calls("before").first?.headers["traceparent"] ?? ""
                    #expect(header.hasPrefix("00-\(Self.trace)-"))
                    let haveCome = try await eventually {
                        collector.spans.contains { $0["traceId"] == .string(Self.trace) && $0["kind"] == 2 }
                    }
                    #expect(haveCome)
                    let spans = collector.spans.filter { $0["traceId"] == .string(Self.trace) }
                    let root = try #require(spans.first { $0["kind"] == 2 })
                    #expect(root["name"] == "POST /classes/{className}")
                    #expect(root["parentSpanId"] == "00f067aa0ba902b7")
                    #expect(root["traceState"] == "a=1")
                    #expect(root["authorization"] == "Bearer key")
                    #expect(root["attributes"]?["http.response.status_code"] == 201)
                    #expect(root["attributes"]?["url.path"] == "/parse/classes/Song")
                    #expect(root["attributes"]?["roost.request_id"] == .string(answer.headers["x-request-id"] ?? ""))
                    for name in ["beforeSave Song", "create Song"] {
                        let child = try #require(spans.first { $0["name"] == .string(name) }, "\(name)")
                        #expect(child["parentSpanId"] == root["spanId"])
                        #expect(child["start"]?.numberValue ?? 0 >= root["start"]?.numberValue ?? .infinity)
                        #expect(child["end"]?.numberValue ?? .infinity <= root["end"]?.numberValue ?? 0)
                    }
                    #expect(!JSONValue.array(spans).text.contains("secret"))
                }
            }
        }
    }

    @Test("The word of an app about a trace is only named, and lines have the id of the trace")
    func untrusted() async throws {
        let lines = LogLines()
        try await SpanCollector.run { collector in
            try await TestServer.run(Self.options(collector), logger: lines.logger) { server in
                _ = try await server.send("GET", "/classes/Song", headers: ["traceparent": Self.parent])
                let haveCome = try await eventually {
                    collector.spans.contains { $0["links"]?.arrayValue?.first == .string(Self.trace) }
                }
                #expect(haveCome)
                let span = collector.spans.first { $0["links"]?.arrayValue?.first == .string(Self.trace) }
                #expect(span?["traceId"] != .string(Self.trace))
                #expect(lines.all.contains { $0.contains("trace_id=\(span?["traceId"]?.stringValue ?? "?")") })
            }
        }
    }

    @Test("A collector that is busy gets the spans later, and what is left at the end is sent before it")
    func busy() async throws {
        try await SpanCollector.run { collector in
            collector.setBusy(true)
            try await TestServer.run(Self.options(collector)) { server in
                let answer = try await server.send("GET", "/classes/Song")
                #expect(answer.status == 200)
                let isRefused = try await eventually { collector.hasRefused }
                #expect(isRefused)
                collector.setBusy(false)
                let haveCome = try await eventually { !collector.spans.isEmpty }
                #expect(haveCome)
                _ = try await server.send("GET", "/classes/Last/x")
            }
            #expect(collector.spans.contains { $0["attributes"]?["url.path"] == "/parse/classes/Last/x" })
        }
    }
}
