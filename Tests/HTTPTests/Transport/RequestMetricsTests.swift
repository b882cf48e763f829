import HTTP
import MetricsTestKit
import TestSupport
import Testing

@Suite struct RequestMetricsTests {
    @Test("Records request durations by method and status, and counts active requests")
    func durations() async throws {
        let metrics = TestMetrics()
        var additions = HTTPServer.Additions()
        additions.metrics = metrics
        try await TransportServer.run(additions: additions) { client in
            for path in ["/parse/health", "/parse/health", "/parse/health", "/nothing"] {
                _ = try await client.request("GET", path)
            }
        }
        func count(_ method: String, _ status: String) throws -> Int {
            try metrics.expectTimer(
                "http.server.request.duration",
                [("http.request.method", method), ("http.response.status_code", status)]
            ).values.count
        }
        let found = try count("GET", "200")
        let missing = try count("GET", "404")
        #expect(found == 3)
        #expect(missing == 1)
        let active = try metrics.expectMeter("http.server.active_requests")
        #expect(active.values.last == 0)
    }
}
