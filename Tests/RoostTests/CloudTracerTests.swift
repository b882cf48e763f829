import JSON
import Roost
import TestSupport
import Testing
import Tracing

@Suite("Spans of Swift cloud code")
struct CloudTracerTests {
    @Test("Nests spans below the function call, and exports no query-string secrets")
    func spans() async throws {
        try await SpanCollector.run { collector in
            let options: JSONObject = [
                "tracingEndpoint": .string(collector.address), "tracingSampler": "always_on",
            ]
            let server = CloudServer(options) { cloud in
                cloud.define("traced") { _ async throws -> String in
                    try await CloudTracer().withSpan("outer") { outer async throws -> String in
                        outer.attributes["url.full"] = "https://example.org/?token=secret"
                        outer.attributes["count"] = 3
                        return try await CloudTracer().withSpan("inner", ofKind: .client) { _ async throws -> String in
                            await Task.yield()
                            return "done"
                        }
                    }
                }
            }
            try await server.run { server in
                let answer = try await server.call("traced")
                #expect(answer["result"] == "done")
                let haveCome = try await eventually { collector.spans.contains { $0["name"] == "inner" } }
                #expect(haveCome)
                func span(_ name: String) throws -> JSONValue {
                    try #require(collector.spans.first { $0["name"] == .string(name) }, "\(name)")
                }
                let (call, outer, inner) = (try span("function traced"), try span("outer"), try span("inner"))
                #expect(outer["parentSpanId"] == call["spanId"])
                #expect(inner["parentSpanId"] == outer["spanId"])
                #expect(inner["kind"] == 3)
                #expect(outer["attributes"]?["count"] == 3)
                #expect(!JSONValue.array(collector.spans).text.contains("secret"))
            }
        }
    }
}
